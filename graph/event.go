package graph

import "github.com/caret-bpf/caret-bpf/trace"

// EventID is the number of an initialization event, the same as in the cookie of its probe.
type EventID uint8

// The initialization events (ROS 2 tracepoints) that a Graph understands, with their arguments; strings are in parentheses.
const (
	RclNodeInit                     EventID = 21 // node_handle, rmw_handle, (node_name), (namespace)
	RclPublisherInit                EventID = 22 // publisher_handle, node_handle, rmw_publisher_handle, (topic_name), queue_depth
	RclSubscriptionInit             EventID = 23 // subscription_handle, node_handle, rmw_subscription_handle, (topic_name), queue_depth
	RclcppSubscriptionInit          EventID = 24 // subscription_handle, subscription
	RclcppSubscriptionCallbackAdded EventID = 25 // subscription, callback
	RclTimerInit                    EventID = 26 // timer_handle, period
	RclcppTimerCallbackAdded        EventID = 27 // timer_handle, callback
	RclcppTimerLinkNode             EventID = 28 // timer_handle, node_handle
	RclcppCallbackRegister          EventID = 29 // callback, (symbol)
	RclServiceInit                  EventID = 30 // service_handle, node_handle, rmw_service_handle, (service_name)
	RclcppServiceCallbackAdded      EventID = 31 // service_handle, callback
)

// InitEvent is one initialization event.
type InitEvent struct {
	Event EventID
	// Time is that of the event, in nanoseconds of the dataset's clock.
	Time int64
	// Arguments are the tracepoint's arguments in order; in place of a string stands its address.
	Arguments [6]uint64
	// String1 and String2 are the tracepoint's first and second string, "" where they could not be read whole.
	String1, String2 string
}

// Init takes in an initialization event. Events must come in the order in which they happened.
func (g *Graph) Init(event InitEvent) {
	a := event.Arguments
	first, second, third := trace.Address(a[0]), trace.Address(a[1]), trace.Address(a[2])
	if first == 0 {
		return
	}
	switch event.Event {
	case RclNodeInit:
		g.initNode(event.Time, trace.Node{NodeHandle: first, RMWHandle: second, NodeName: event.String1, Namespace: event.String2})
	case RclPublisherInit:
		g.initPublisher(event.Time, trace.Publisher{
			PublisherHandle: first, NodeHandle: second, RMWPublisherHandle: third,
			TopicName: event.String1, QueueDepth: trace.Some(a[4]),
		})
	case RclSubscriptionInit:
		g.initSubscription(event.Time, trace.Subscription{
			SubscriptionHandle: first, NodeHandle: second, RMWSubscriptionHandle: third,
			TopicName: event.String1, QueueDepth: trace.Some(a[4]),
		})
	case RclcppSubscriptionInit:
		g.linkObject(event.Time, first, second)
	case RclcppSubscriptionCallbackAdded:
		g.addObjectCallback(event.Time, first, second)
	case RclTimerInit:
		g.initTimer(event.Time, trace.Timer{TimerHandle: first, Period: trace.Some(int64(a[1]))})
	case RclcppTimerCallbackAdded:
		g.addTimerCallback(event.Time, first, second)
	case RclcppTimerLinkNode:
		g.linkTimer(event.Time, first, second)
	case RclcppCallbackRegister:
		g.registerCallback(event.Time, first, event.String1)
	case RclServiceInit:
		g.initService(event.Time, first, second, third, event.String1)
	case RclcppServiceCallbackAdded:
		g.addServiceCallback(event.Time, first, second)
	}
}
