package abi

import (
	"fmt"
	"slices"
)

// Event identifies a traced event by its CARET or ROS 2 tracepoint name. The numbers are part of an attached site's
// cookie and of every kernel record, so they never change.
type Event uint8

// Events of the running system.
const (
	EventCallbackStart           Event = 1
	EventCallbackEnd             Event = 2
	EventRclcppPublish           Event = 3
	EventRclPublish              Event = 4
	EventRMWPublish              Event = 5 // CARET calls it dds_write
	EventDDSBindAddrToStamp      Event = 6
	EventRclcppIntraPublish      Event = 7
	EventRclcppRingBufferEnqueue Event = 8
	EventRclcppRingBufferDequeue Event = 9
	EventRMWTake                 Event = 10
	EventExecutorExecute         Event = 11 // Executor::execute_any_executable: bookkeeping, not a CARET event
	EventThreadExit              Event = 12 // made of the end of a thread
	EventRequestSent             Event = 13
	EventRequestTaken            Event = 14
	EventResponseSent            Event = 15
	EventResponseTaken           Event = 16
	EventServiceCall             Event = 17 // a service function of rcl begins
	EventSimTime                 Event = 18
	EventLibraryLoad             Event = 19 // none of the catalogue: the dynamic linker tells debuggers of libraries
)

// Initialization events: they name the entities. Behind each are its arguments; strings are in parentheses. The
// identity of a client is in hexadecimal: the GUIDs of its writer and its reader with Fast DDS, a handle of 8 bytes
// with Cyclone DDS, "" if not known.
const (
	EventRclInit                                Event = 20 // context
	EventRclNodeInit                            Event = 21 // node_handle, rmw_handle, (node_name), (namespace)
	EventRclPublisherInit                       Event = 22 // publisher_handle, node_handle, rmw_publisher_handle, (topic_name), queue_depth
	EventRclSubscriptionInit                    Event = 23 // subscription_handle, node_handle, rmw_subscription_handle, (topic_name), queue_depth
	EventRclcppSubscriptionInit                 Event = 24 // subscription_handle, subscription
	EventRclcppSubscriptionCallbackAdded        Event = 25 // subscription, callback, buffer, capacity, ipb (of an intra-process one on Humble; 0 else)
	EventRclTimerInit                           Event = 26 // timer_handle, period
	EventRclcppTimerCallbackAdded               Event = 27 // timer_handle, callback
	EventRclcppTimerLinkNode                    Event = 28 // timer_handle, node_handle
	EventRclcppCallbackRegister                 Event = 29 // callback, (symbol)
	EventRclServiceInit                         Event = 30 // service_handle, node_handle, rmw_service_handle, (service_name), impl
	EventRclcppServiceCallbackAdded             Event = 31 // service_handle, callback, impl
	EventRclClientInit                          Event = 32 // client_handle, node_handle, rmw_client_handle, (service_name), (identity)
	EventRclcppIPBToSubscription                Event = 33 // ipb, subscription
	EventRclcppBufferToIPB                      Event = 34 // buffer, ipb
	EventRclcppConstructRingBuffer              Event = 35 // buffer, capacity
	EventRclLifecycleStateMachineInit           Event = 36 // node_handle, state_machine
	EventConstructExecutor                      Event = 37 // executor, type of executor
	EventAddCallbackGroup                       Event = 38 // executor, callback_group, type of group, node_base
	EventAddCallbackGroupStaticExecutor         Event = 39 // entities_collector, callback_group, type of group
	EventCallbackGroupAddTimer                  Event = 40 // callback_group, timer_handle, type of group + 1 (in these four; 0: not known)
	EventCallbackGroupAddSubscription           Event = 41 // callback_group, subscription_handle
	EventCallbackGroupAddService                Event = 42 // callback_group, service_handle
	EventCallbackGroupAddClient                 Event = 43 // callback_group, client_handle
	EventCallbackGroupToExecutorEntityCollector Event = 44 // entities_collector, callback_group, type of group
	EventExecutorEntityCollectorToExecutor      Event = 45 // executor, entities_collector
	EventRMWPublisherInit                       Event = 46 // rmw_publisher_handle, (gid in hexadecimal)
	EventAddPublisher                           Event = 47 // publisher_handle, publisher
	EventGenericSubscription                    Event = 48 // subscription_handle, subscription, callback: Humble's, when first executed
)

// The events that end an entity, each with its handle: rcl's fini functions and the destructor of rclcpp::Executor.
const (
	EventRclPublisherFini    Event = 50
	EventRclSubscriptionFini Event = 51
	EventRclTimerFini        Event = 52
	EventRclServiceFini      Event = 53
	EventRclClientFini       Event = 54
	EventRclNodeFini         Event = 55
	EventExecutorDestroy     Event = 56
)

// EventRclLifecycleTransition is no initialization, but as rare, and carries strings like one.
const EventRclLifecycleTransition Event = 60

// Events of the running system again: those from here on are no initialization. The first two are bookkeeping, and none
// is a CARET event.
const (
	// EventExceptionCaught is the C++ runtime's __cxa_begin_catch.
	EventExceptionCaught Event = 64
	// EventServiceExecuted: rclcpp::Executor::execute_service has returned.
	EventServiceExecuted Event = 65
	// EventWait: rclcpp::Executor::wait_for_work is called, or has returned.
	EventWait Event = 66
)

// IsInit reports whether the event is handled like an initialization: it is rare and concerns the entities themselves.
func (e Event) IsInit() bool {
	return e >= EventRclInit && e < EventExceptionCaught
}

var eventNames = [...]string{
	EventCallbackStart:                          "callback_start",
	EventCallbackEnd:                            "callback_end",
	EventRclcppPublish:                          "rclcpp_publish",
	EventRclPublish:                             "rcl_publish",
	EventRMWPublish:                             "rmw_publish",
	EventDDSBindAddrToStamp:                     "dds_bind_addr_to_stamp",
	EventRclcppIntraPublish:                     "rclcpp_intra_publish",
	EventRclcppRingBufferEnqueue:                "rclcpp_ring_buffer_enqueue",
	EventRclcppRingBufferDequeue:                "rclcpp_ring_buffer_dequeue",
	EventRMWTake:                                "rmw_take",
	EventExecutorExecute:                        "executor_execute",
	EventThreadExit:                             "thread_exit",
	EventRequestSent:                            "request_sent",
	EventRequestTaken:                           "request_taken",
	EventResponseSent:                           "response_sent",
	EventResponseTaken:                          "response_taken",
	EventServiceCall:                            "service_call",
	EventSimTime:                                "sim_time",
	EventLibraryLoad:                            "library_load",
	EventRclInit:                                "rcl_init",
	EventRclNodeInit:                            "rcl_node_init",
	EventRclPublisherInit:                       "rcl_publisher_init",
	EventRclSubscriptionInit:                    "rcl_subscription_init",
	EventRclcppSubscriptionInit:                 "rclcpp_subscription_init",
	EventRclcppSubscriptionCallbackAdded:        "rclcpp_subscription_callback_added",
	EventRclTimerInit:                           "rcl_timer_init",
	EventRclcppTimerCallbackAdded:               "rclcpp_timer_callback_added",
	EventRclcppTimerLinkNode:                    "rclcpp_timer_link_node",
	EventRclcppCallbackRegister:                 "rclcpp_callback_register",
	EventRclServiceInit:                         "rcl_service_init",
	EventRclcppServiceCallbackAdded:             "rclcpp_service_callback_added",
	EventRclClientInit:                          "rcl_client_init",
	EventRclcppIPBToSubscription:                "rclcpp_ipb_to_subscription",
	EventRclcppBufferToIPB:                      "rclcpp_buffer_to_ipb",
	EventRclcppConstructRingBuffer:              "rclcpp_construct_ring_buffer",
	EventRclLifecycleStateMachineInit:           "rcl_lifecycle_state_machine_init",
	EventConstructExecutor:                      "construct_executor",
	EventAddCallbackGroup:                       "add_callback_group",
	EventAddCallbackGroupStaticExecutor:         "add_callback_group_static_executor",
	EventCallbackGroupAddTimer:                  "callback_group_add_timer",
	EventCallbackGroupAddSubscription:           "callback_group_add_subscription",
	EventCallbackGroupAddService:                "callback_group_add_service",
	EventCallbackGroupAddClient:                 "callback_group_add_client",
	EventCallbackGroupToExecutorEntityCollector: "callback_group_to_executor_entity_collector",
	EventExecutorEntityCollectorToExecutor:      "executor_entity_collector_to_executor",
	EventRMWPublisherInit:                       "rmw_publisher_init",
	EventAddPublisher:                           "add_publisher",
	EventGenericSubscription:                    "generic_subscription",
	EventRclPublisherFini:                       "rcl_publisher_fini",
	EventRclSubscriptionFini:                    "rcl_subscription_fini",
	EventRclTimerFini:                           "rcl_timer_fini",
	EventRclServiceFini:                         "rcl_service_fini",
	EventRclClientFini:                          "rcl_client_fini",
	EventRclNodeFini:                            "rcl_node_fini",
	EventExecutorDestroy:                        "executor_destroy",
	EventRclLifecycleTransition:                 "rcl_lifecycle_transition",
	EventExceptionCaught:                        "exception_caught",
	EventServiceExecuted:                        "service_executed",
	EventWait:                                   "wait",
}

// String returns the event's name, "event_N" for a number that none has.
func (e Event) String() string {
	if int(e) < len(eventNames) && eventNames[e] != "" {
		return eventNames[e]
	}
	return fmt.Sprintf("event_%d", uint8(e))
}

// MarshalText renders the event's name.
func (e Event) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an event's name.
func (e *Event) UnmarshalText(text []byte) error {
	index := slices.Index(eventNames[:], string(text))
	if index <= 0 || len(text) == 0 {
		return fmt.Errorf("%.40q is no event", text)
	}
	*e = Event(index)
	return nil
}
