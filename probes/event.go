package probes

import "fmt"

// Event identifies a traced event by its CARET or ROS 2 tracepoint name. The numbers are part of an attached site's cookie
// and of every kernel record, so they never change.
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
	EventRequestSent             Event = 13
	EventRequestTaken            Event = 14
	EventResponseSent            Event = 15
	EventResponseTaken           Event = 16
	EventSimTime                 Event = 18
	// EventLibraryLoad is none of the catalogue: the dynamic linker tells debuggers of libraries. It is planned with callers.
	EventLibraryLoad Event = 19
)

// Initialization events: they name the entities.
const (
	EventRclInit                         Event = 20
	EventRclNodeInit                     Event = 21
	EventRclPublisherInit                Event = 22
	EventRclSubscriptionInit             Event = 23
	EventRclcppSubscriptionInit          Event = 24
	EventRclcppSubscriptionCallbackAdded Event = 25
	EventRclTimerInit                    Event = 26
	EventRclcppTimerCallbackAdded        Event = 27
	EventRclcppTimerLinkNode             Event = 28
	EventRclcppCallbackRegister          Event = 29
	EventRclServiceInit                  Event = 30
	EventRclcppServiceCallbackAdded      Event = 31
	EventRclClientInit                   Event = 32
	EventRclcppIPBToSubscription         Event = 33
	EventRclcppBufferToIPB               Event = 34
	EventRclcppConstructRingBuffer       Event = 35
	EventRclLifecycleStateMachineInit    Event = 36
	EventConstructExecutor               Event = 37
	EventAddCallbackGroup                Event = 38
	EventAddCallbackGroupStaticExecutor  Event = 39
	EventCallbackGroupAddTimer           Event = 40
	EventCallbackGroupAddSubscription    Event = 41
	EventCallbackGroupAddService         Event = 42
	EventCallbackGroupAddClient          Event = 43
	EventCallbackGroupToCollector        Event = 44
	EventRMWPublisherInit                Event = 46
	EventAddPublisher                    Event = 47
	EventRclPublisherFini                Event = 50
	EventRclSubscriptionFini             Event = 51
	EventRclTimerFini                    Event = 52
	EventRclServiceFini                  Event = 53
	EventRclClientFini                   Event = 54
	EventRclNodeFini                     Event = 55
	EventExecutorDestroy                 Event = 56
	// EventRclLifecycleTransition is no initialization, but as rare, and carries strings like one.
	EventRclLifecycleTransition Event = 60
)

// Bookkeeping, not CARET events.
const (
	// EventExceptionCaught is the C++ runtime's __cxa_begin_catch.
	EventExceptionCaught Event = 64
	// EventServiceExecuted: rclcpp::Executor::execute_service has returned.
	EventServiceExecuted Event = 65
)

// IsInit reports whether the event is handled like an initialization: it is rare and concerns the entities themselves.
func (e Event) IsInit() bool {
	return e >= EventRclInit && e != EventExceptionCaught && e != EventServiceExecuted
}

// String returns the event's name, "event_N" for a number that the catalogue does not have.
func (e Event) String() string {
	if e == EventLibraryLoad {
		return "library_load"
	}
	if entry, ok := Lookup(e); ok {
		return entry.Name
	}
	return fmt.Sprintf("event_%d", uint8(e))
}

// MarshalText renders the event's name.
func (e Event) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an event's name.
func (e *Event) UnmarshalText(text []byte) error {
	for _, entry := range Catalogue() {
		if entry.Name == string(text) {
			*e = entry.Event
			return nil
		}
	}
	return fmt.Errorf("%q is no event of the catalogue", text)
}
