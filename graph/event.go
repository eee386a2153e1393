package graph

import "github.com/caret-bpf/caret-bpf/trace"

// EventID is the number of an initialization event, the same as in the cookie of its probe.
type EventID uint8

// The initialization events (ROS 2 tracepoints) that a Graph understands, with their arguments; strings are in parentheses. The identity of a
// client is in hexadecimal: the GUIDs of its writer and its reader with Fast DDS, a handle of 8 bytes with Cyclone DDS, "" if not known.
const (
	RclInit                                EventID = 20 // context
	RclNodeInit                            EventID = 21 // node_handle, rmw_handle, (node_name), (namespace)
	RclPublisherInit                       EventID = 22 // publisher_handle, node_handle, rmw_publisher_handle, (topic_name), queue_depth
	RclSubscriptionInit                    EventID = 23 // subscription_handle, node_handle, rmw_subscription_handle, (topic_name), queue_depth
	RclcppSubscriptionInit                 EventID = 24 // subscription_handle, subscription
	RclcppSubscriptionCallbackAdded        EventID = 25 // subscription, callback, buffer, capacity, ipb (of an intra-process one on Humble; 0 else)
	RclTimerInit                           EventID = 26 // timer_handle, period
	RclcppTimerCallbackAdded               EventID = 27 // timer_handle, callback
	RclcppTimerLinkNode                    EventID = 28 // timer_handle, node_handle
	RclcppCallbackRegister                 EventID = 29 // callback, (symbol)
	RclServiceInit                         EventID = 30 // service_handle, node_handle, rmw_service_handle, (service_name), impl
	RclcppServiceCallbackAdded             EventID = 31 // service_handle, callback, impl
	RclClientInit                          EventID = 32 // client_handle, node_handle, rmw_client_handle, (service_name), (identity)
	RclcppIpbToSubscription                EventID = 33 // ipb, subscription
	RclcppBufferToIpb                      EventID = 34 // buffer, ipb
	RclcppConstructRingBuffer              EventID = 35 // buffer, capacity
	RclLifecycleStateMachineInit           EventID = 36 // node_handle, state_machine
	ConstructExecutor                      EventID = 37 // executor, type of executor
	AddCallbackGroup                       EventID = 38 // executor, callback_group, type of group, node_base
	AddCallbackGroupStaticExecutor         EventID = 39 // entities_collector, callback_group, type of group
	CallbackGroupAddTimer                  EventID = 40 // callback_group, timer_handle, type of group + 1 (in these four; 0: not known)
	CallbackGroupAddSubscription           EventID = 41 // callback_group, subscription_handle
	CallbackGroupAddService                EventID = 42 // callback_group, service_handle
	CallbackGroupAddClient                 EventID = 43 // callback_group, client_handle
	CallbackGroupToExecutorEntityCollector EventID = 44 // entities_collector, callback_group, type of group
	ExecutorEntityCollectorToExecutor      EventID = 45 // executor, entities_collector
	RmwPublisherInit                       EventID = 46 // rmw_publisher_handle, (gid in hexadecimal)
	AddPublisher                           EventID = 47 // publisher_handle, publisher
	GenericSubscription                    EventID = 48 // subscription_handle, subscription, callback: Humble's, when first executed
)

// The events that end an entity, each with its handle: rcl's fini functions and the destructor of rclcpp::Executor.
const (
	RclPublisherFini      EventID = 50
	RclSubscriptionFini   EventID = 51
	RclTimerFini          EventID = 52
	RclServiceFini        EventID = 53
	RclClientFini         EventID = 54
	RclNodeFini           EventID = 55
	RclcppExecutorDestroy EventID = 56
)

// The types of executors, as ConstructExecutor tells them. The base class's constructor runs for executors of any type.
const (
	ExecutorBase uint64 = iota
	ExecutorSingleThreaded
	ExecutorMultiThreaded
	ExecutorStaticSingleThreaded
	ExecutorEvents
)

// The types of callback groups, as rclcpp::CallbackGroupType numbers them.
const (
	GroupMutuallyExclusive uint64 = iota
	GroupReentrant
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

// Init takes in an initialization event, or one that ends an entity. Events must come in the order in which they happened.
func (g *Graph) Init(event InitEvent) {
	g.lastEvent = max(g.lastEvent, event.Time)
	a := event.Arguments
	first, second, third := trace.Address(a[0]), trace.Address(a[1]), trace.Address(a[2])
	if first == 0 || !endsEntity(event.Event) && !g.mayGrow() {
		return
	}
	switch event.Event {
	case RclInit:
		g.initContext(event.Time, first)
	case RclNodeInit:
		g.initNode(event.Time, trace.Node{NodeHandle: first, RMWHandle: second, NodeName: event.String1, Namespace: event.String2})
	case AddPublisher:
		g.addPublisher(event.Time, first, second)
	case RmwPublisherInit:
		g.announceGID(event.Time, first, event.String1)
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
		g.addObjectCallback(event.Time, first, second, intraProcess{ring: third, capacity: a[3], ipb: trace.Address(a[4])})
	case GenericSubscription:
		g.showGenericSubscription(event.Time, first, second, third)
	case RclTimerInit:
		g.initTimer(event.Time, trace.Timer{TimerHandle: first, Period: trace.Some(int64(a[1]))})
	case RclcppTimerCallbackAdded:
		g.addTimerCallback(event.Time, first, second)
	case RclcppTimerLinkNode:
		g.linkTimer(event.Time, first, second)
	case RclcppCallbackRegister:
		g.registerCallback(event.Time, first, event.String1)
	case RclServiceInit:
		g.initService(event.Time, trace.ServiceServer{
			ServiceHandle: first, NodeHandle: second, RMWServiceHandle: third, ServiceName: event.String1,
		}, trace.Address(a[4]))
	case RclcppServiceCallbackAdded:
		g.addServiceCallback(event.Time, first, second, third)
	case RclClientInit:
		g.initClient(event.Time, trace.Client{
			ClientHandle: first, NodeHandle: second, RMWClientHandle: third, ServiceName: event.String1, GID: clientIdentity(event.String2),
		})
	case RclLifecycleStateMachineInit:
		g.initStateMachine(event.Time, trace.LifecycleStateMachine{NodeHandle: first, StateMachine: second})
	case RclcppConstructRingBuffer:
		g.initBuffer(event.Time, first, a[1])
	case RclcppBufferToIpb:
		g.linkBuffer(event.Time, first, second)
	case RclcppIpbToSubscription:
		g.linkIntraProcessBuffer(event.Time, first, second)
	case ConstructExecutor:
		g.initExecutor(event.Time, first, a[1])
	case ExecutorEntityCollectorToExecutor:
		g.linkCollector(event.Time, first, second)
	case AddCallbackGroup:
		g.joinExecutor(event.Time, second, a[2], first)
		g.placeGroup(event.Time, second, trace.Address(a[3]))
	case AddCallbackGroupStaticExecutor, CallbackGroupToExecutorEntityCollector:
		g.joinCollector(event.Time, second, a[2], first)
	case CallbackGroupAddTimer:
		g.groupTimer(event.Time, first, second, entityGroupType(a[2]))
	case CallbackGroupAddSubscription:
		g.groupSubscription(event.Time, first, second, entityGroupType(a[2]))
	case CallbackGroupAddService:
		g.groupService(event.Time, first, second, entityGroupType(a[2]))
	case CallbackGroupAddClient:
		g.groupClient(event.Time, first, second, entityGroupType(a[2]))
	default:
		g.End(event.Event, first, event.Time)
	}
}
