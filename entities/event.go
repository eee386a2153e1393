package entities

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The types of executors, as abi.EventConstructExecutor tells them. The base class's constructor runs for executors of
// any type.
const (
	ExecutorBase                 = uint64(abi.FormExecutorBase)
	ExecutorSingleThreaded       = uint64(abi.FormSingleThreadedExecutor)
	ExecutorMultiThreaded        = uint64(abi.FormMultiThreadedExecutor)
	ExecutorStaticSingleThreaded = uint64(abi.FormStaticSingleThreadedExecutor)
	ExecutorEvents               = uint64(abi.FormEventsExecutor)
)

// The types of callback groups, as rclcpp::CallbackGroupType numbers them.
const (
	GroupMutuallyExclusive uint64 = iota
	GroupReentrant
)

// InitEvent is one initialization event.
type InitEvent struct {
	Event abi.Event
	// Time is that of the event, in nanoseconds of the dataset's clock.
	Time int64
	// Arguments are the tracepoint's arguments in order; in place of a string stands its address.
	Arguments [6]uint64
	// String1 and String2 are the tracepoint's first and second string, "" where they could not be read whole.
	String1, String2 string
}

// Init takes in an initialization event, or one that ends an entity. Events must come in the order in which they
// happened.
func (g *Graph) Init(event InitEvent) {
	g.lastEvent = max(g.lastEvent, event.Time)
	a := event.Arguments
	first, second, third := trace.Address(a[0]), trace.Address(a[1]), trace.Address(a[2])
	if first == 0 || !endsEntity(event.Event) && !g.mayGrow() {
		return
	}
	switch event.Event {
	case abi.EventRclInit:
		g.initContext(event.Time, first)
	case abi.EventRclNodeInit:
		g.initNode(event.Time, trace.Node{NodeHandle: first, RMWHandle: second, NodeName: event.String1, Namespace: event.String2})
	case abi.EventAddPublisher:
		g.addPublisher(event.Time, first, second)
	case abi.EventRMWPublisherInit:
		g.announceGID(event.Time, first, event.String1)
	case abi.EventRclPublisherInit:
		g.initPublisher(event.Time, trace.Publisher{
			PublisherHandle: first, NodeHandle: second, RMWPublisherHandle: third,
			TopicName: event.String1, QueueDepth: trace.Some(a[4]),
		}, a[3])
	case abi.EventRclSubscriptionInit:
		g.initSubscription(event.Time, trace.Subscription{
			SubscriptionHandle: first, NodeHandle: second, RMWSubscriptionHandle: third,
			TopicName: event.String1, QueueDepth: trace.Some(a[4]),
		})
	case abi.EventRclcppSubscriptionInit:
		g.linkObject(event.Time, first, second)
	case abi.EventRclcppSubscriptionCallbackAdded:
		g.addObjectCallback(event.Time, first, second, intraProcess{ring: third, capacity: a[3], ipb: trace.Address(a[4])})
	case abi.EventGenericSubscription:
		g.showGenericSubscription(event.Time, first, second, third)
	case abi.EventRclTimerInit:
		g.initTimer(event.Time, trace.Timer{TimerHandle: first, Period: trace.Some(int64(a[1]))})
	case abi.EventRclcppTimerCallbackAdded:
		g.addTimerCallback(event.Time, first, second)
	case abi.EventRclcppTimerLinkNode:
		g.linkTimer(event.Time, first, second)
	case abi.EventRclcppCallbackRegister:
		g.registerCallback(event.Time, first, event.String1)
	case abi.EventRclServiceInit:
		g.initService(event.Time, trace.ServiceServer{
			ServiceHandle: first, NodeHandle: second, RMWServiceHandle: third, ServiceName: event.String1,
		}, trace.Address(a[4]), event.String2)
	case abi.EventRclcppServiceCallbackAdded:
		g.addServiceCallback(event.Time, first, second, third)
	case abi.EventRclClientInit:
		g.initClient(event.Time, trace.Client{
			ClientHandle: first, NodeHandle: second, RMWClientHandle: third, ServiceName: event.String1, GID: clientIdentity(event.String2),
		})
	case abi.EventRclLifecycleStateMachineInit:
		g.initStateMachine(event.Time, trace.LifecycleStateMachine{NodeHandle: first, StateMachine: second})
	case abi.EventRclcppConstructRingBuffer:
		g.initBuffer(event.Time, first, a[1])
	case abi.EventRclcppBufferToIPB:
		g.linkBuffer(event.Time, first, second)
	case abi.EventRclcppIPBToSubscription:
		g.linkIntraProcessBuffer(event.Time, first, second)
	case abi.EventConstructExecutor:
		g.initExecutor(event.Time, first, a[1])
	case abi.EventExecutorEntityCollectorToExecutor:
		g.linkCollector(event.Time, first, second)
	case abi.EventAddCallbackGroup:
		g.joinExecutor(event.Time, second, a[2], first)
		g.placeGroup(event.Time, second, trace.Address(a[3]))
	case abi.EventAddCallbackGroupStaticExecutor, abi.EventCallbackGroupToExecutorEntityCollector:
		g.joinCollector(event.Time, second, a[2], first)
	case abi.EventCallbackGroupAddTimer:
		g.groupTimer(event.Time, first, second, entityGroupType(a[2]))
	case abi.EventCallbackGroupAddSubscription:
		g.groupSubscription(event.Time, first, second, entityGroupType(a[2]))
	case abi.EventCallbackGroupAddService:
		g.groupService(event.Time, first, second, entityGroupType(a[2]))
	case abi.EventCallbackGroupAddClient:
		g.groupClient(event.Time, first, second, entityGroupType(a[2]))
	default:
		g.End(event.Event, first, event.Time)
	}
}
