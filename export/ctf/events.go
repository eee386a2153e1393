package ctf

import (
	"encoding/binary"
	"math"
	"slices"
)

// fieldType is the type of a field in a trace.
type fieldType uint8

const (
	// address is a pointer, 0 where it is not known.
	address fieldType = iota
	unsigned
	signed
	truth // int32_t, 0 or 1
	text  // up to a zero
	gid   // 24 bytes
)

// gidBytes is the size of a gid in a tracepoint of ROS 2.
const gidBytes = 24

type field struct {
	name string
	of   fieldType
}

// event is the number of a tracepoint in a trace.
type event uint16

const (
	caretInit event = iota
	rclInit
	rclNodeInit
	rmwPublisherInit
	rclPublisherInit
	rmwSubscriptionInit
	rclSubscriptionInit
	rclcppSubscriptionInit
	rclcppSubscriptionCallbackAdded
	callbackGroupAddSubscription
	rclcppConstructRingBuffer
	rclcppBufferToIPB
	rclcppIPBToSubscription
	rclTimerInit
	rclcppTimerCallbackAdded
	rclcppTimerLinkNode
	callbackGroupAddTimer
	rclServiceInit
	rclcppServiceCallbackAdded
	callbackGroupAddService
	rmwClientInit
	rclClientInit
	callbackGroupAddClient
	rclcppCallbackRegister
	callbackGroupToExecutorEntityCollector
	executorEntityCollectorToExecutor
	constructExecutor
	rclLifecycleStateMachineInit
	callbackStart
	callbackEnd
	rclcppIntraPublish
	rclcppPublish
	rclPublish
	rmwPublish
	ddsWrite
	ddsBindAddrToStamp
	rmwTake
	rclcppTake
	rclcppRingBufferEnqueue
	rclcppRingBufferDequeue
	rclLifecycleTransition
	simTime
	executorGetNextReady
	executorWaitForWork
	executorExecute
	eventCount
)

// tracepoint is what metadata says of an event.
type tracepoint struct {
	name   string
	fields []field
}

// synthesised is the field of events that were not recorded, and follow from what was: it is 1. The tracepoints that
// have these names do not have it. Readers ask for fields by their names.
const synthesised = "synthesised"

// isSynthesised reports whether events of a tracepoint were not recorded.
func (t *tracepoint) isSynthesised() bool {
	return slices.ContainsFunc(t.fields, func(f field) bool { return f.name == synthesised })
}

// tracepoints describes the events, as tracetools and CARET name them.
func tracepoints() [eventCount]tracepoint {
	return [eventCount]tracepoint{
		caretInit:                              {"ros2_caret:caret_init", []field{{"clock_offset", signed}, {"distribution", text}}},
		rclInit:                                {"ros2:rcl_init", []field{{"context_handle", address}, {"version", text}}},
		rclNodeInit:                            {"ros2:rcl_node_init", []field{{"node_handle", address}, {"rmw_handle", address}, {"node_name", text}, {"namespace", text}}},
		rmwPublisherInit:                       {"ros2:rmw_publisher_init", []field{{"rmw_publisher_handle", address}, {"gid", gid}}},
		rclPublisherInit:                       {"ros2:rcl_publisher_init", []field{{"publisher_handle", address}, {"node_handle", address}, {"rmw_publisher_handle", address}, {"topic_name", text}, {"queue_depth", unsigned}}},
		rmwSubscriptionInit:                    {"ros2:rmw_subscription_init", []field{{"rmw_subscription_handle", address}, {"gid", gid}}},
		rclSubscriptionInit:                    {"ros2:rcl_subscription_init", []field{{"subscription_handle", address}, {"node_handle", address}, {"rmw_subscription_handle", address}, {"topic_name", text}, {"queue_depth", unsigned}}},
		rclcppSubscriptionInit:                 {"ros2:rclcpp_subscription_init", []field{{"subscription_handle", address}, {"subscription", address}}},
		rclcppSubscriptionCallbackAdded:        {"ros2:rclcpp_subscription_callback_added", []field{{"subscription", address}, {"callback", address}}},
		callbackGroupAddSubscription:           {"ros2_caret:callback_group_add_subscription", []field{{"callback_group_addr", address}, {"subscription_handle", address}}},
		rclcppConstructRingBuffer:              {"ros2:rclcpp_construct_ring_buffer", []field{{"buffer", address}, {"capacity", unsigned}}},
		rclcppBufferToIPB:                      {"ros2:rclcpp_buffer_to_ipb", []field{{"buffer", address}, {"ipb", address}}},
		rclcppIPBToSubscription:                {"ros2:rclcpp_ipb_to_subscription", []field{{"ipb", address}, {"subscription", address}}},
		rclTimerInit:                           {"ros2:rcl_timer_init", []field{{"timer_handle", address}, {"period", signed}}},
		rclcppTimerCallbackAdded:               {"ros2:rclcpp_timer_callback_added", []field{{"timer_handle", address}, {"callback", address}}},
		rclcppTimerLinkNode:                    {"ros2:rclcpp_timer_link_node", []field{{"timer_handle", address}, {"node_handle", address}}},
		callbackGroupAddTimer:                  {"ros2_caret:callback_group_add_timer", []field{{"callback_group_addr", address}, {"timer_handle", address}}},
		rclServiceInit:                         {"ros2:rcl_service_init", []field{{"service_handle", address}, {"node_handle", address}, {"rmw_service_handle", address}, {"service_name", text}}},
		rclcppServiceCallbackAdded:             {"ros2:rclcpp_service_callback_added", []field{{"service_handle", address}, {"callback", address}}},
		callbackGroupAddService:                {"ros2_caret:callback_group_add_service", []field{{"callback_group_addr", address}, {"service_handle", address}}},
		rmwClientInit:                          {"ros2:rmw_client_init", []field{{"rmw_client_handle", address}, {"gid", gid}}},
		rclClientInit:                          {"ros2:rcl_client_init", []field{{"client_handle", address}, {"node_handle", address}, {"rmw_client_handle", address}, {"service_name", text}}},
		callbackGroupAddClient:                 {"ros2_caret:callback_group_add_client", []field{{"callback_group_addr", address}, {"client_handle", address}}},
		rclcppCallbackRegister:                 {"ros2:rclcpp_callback_register", []field{{"callback", address}, {"symbol", text}}},
		callbackGroupToExecutorEntityCollector: {"ros2_caret:callback_group_to_executor_entity_collector", []field{{"entities_collector_addr", address}, {"callback_group_addr", address}, {"group_type_name", text}}},
		executorEntityCollectorToExecutor:      {"ros2_caret:executor_entity_collector_to_executor", []field{{"executor_addr", address}, {"entities_collector_addr", address}}},
		constructExecutor:                      {"ros2_caret:construct_executor", []field{{"executor_addr", address}, {"executor_type_name", text}}},
		rclLifecycleStateMachineInit:           {"ros2:rcl_lifecycle_state_machine_init", []field{{"node_handle", address}, {"state_machine", address}}},
		callbackStart:                          {"ros2:callback_start", []field{{"callback", address}, {"is_intra_process", truth}}},
		callbackEnd:                            {"ros2:callback_end", []field{{"callback", address}}},
		rclcppIntraPublish:                     {"ros2:rclcpp_intra_publish", []field{{"publisher_handle", address}, {"message", address}}},
		rclcppPublish:                          {"ros2:rclcpp_publish", []field{{"publisher_handle", address}, {"message", address}}},
		rclPublish:                             {"ros2:rcl_publish", []field{{"publisher_handle", address}, {"message", address}}},
		rmwPublish:                             {"ros2:rmw_publish", []field{{"rmw_publisher_handle", address}, {"message", address}, {"timestamp", signed}}},
		ddsWrite:                               {"ros2_caret:dds_write", []field{{"message", address}}},
		ddsBindAddrToStamp:                     {"ros2_caret:dds_bind_addr_to_stamp", []field{{"addr", address}, {"source_stamp", signed}}},
		rmwTake:                                {"ros2:rmw_take", []field{{"rmw_subscription_handle", address}, {"message", address}, {"source_timestamp", signed}, {"taken", truth}}},
		rclcppTake:                             {"ros2:rclcpp_take", []field{{"message", address}, {synthesised, truth}}},
		rclcppRingBufferEnqueue:                {"ros2:rclcpp_ring_buffer_enqueue", []field{{"buffer", address}, {"index", unsigned}, {"size", unsigned}, {"overwritten", truth}}},
		rclcppRingBufferDequeue:                {"ros2:rclcpp_ring_buffer_dequeue", []field{{"buffer", address}, {"index", unsigned}, {"size", unsigned}}},
		rclLifecycleTransition:                 {"ros2:rcl_lifecycle_transition", []field{{"state_machine", address}, {"start_label", text}, {"goal_label", text}}},
		simTime:                                {"ros2_caret:sim_time", []field{{"stamp", signed}}},
		executorGetNextReady:                   {"ros2:rclcpp_executor_get_next_ready", []field{{synthesised, truth}}},
		executorWaitForWork:                    {"ros2:rclcpp_executor_wait_for_work", []field{{"timeout", signed}}},
		executorExecute:                        {"ros2:rclcpp_executor_execute", []field{{"handle", address}, {synthesised, truth}}},
	}
}

// value is that of a field: text and gids have text, all others a number.
type value struct {
	number uint64
	text   string
}

func number[N ~uint64 | ~int64](of N) value { return value{number: uint64(of)} }

func flag(of bool) value {
	if of {
		return value{number: 1}
	}
	return value{}
}

// place is where an event happened.
type place struct {
	cpu, pid, tid int32
	// process is the first 16 bytes of the process's name.
	process string
}

// procnameBytes is the size of a process's name in an event, with the zero at its end.
const procnameBytes = 17

// appendEvent appends an event as it is in a trace: its header, its context, its fields.
func appendEvent(b []byte, of event, fields []field, at int64, where *place, values []value) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(of))
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint32(b, uint32(where.pid))
	b = binary.LittleEndian.AppendUint32(b, uint32(where.tid))
	b = appendPadded(b, where.process[:min(len(where.process), procnameBytes-1)], procnameBytes)
	for i, v := range values {
		switch fields[i].of {
		case truth:
			b = binary.LittleEndian.AppendUint32(b, uint32(v.number&math.MaxUint32))
		case text:
			b = append(appendText(b, v.text), 0)
		case gid:
			b = appendPadded(b, v.text[:min(len(v.text), gidBytes)], gidBytes)
		default:
			b = binary.LittleEndian.AppendUint64(b, v.number)
		}
	}
	return b
}

// appendText appends text without zeros, which would end it.
func appendText(b []byte, of string) []byte {
	for i := range len(of) {
		if of[i] != 0 {
			b = append(b, of[i])
		}
	}
	return b
}

func appendPadded(b []byte, of string, size int) []byte {
	b = append(b, of...)
	return append(b, make([]byte, size-len(of))...)
}
