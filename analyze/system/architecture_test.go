package system_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

var (
	robot  = trace.ProcessKey{BootID: "boot", PID: 100, ProcessStart: 1}
	remote = trace.ProcessKey{BootID: "other-boot", PID: 100, ProcessStart: 1}
)

// robotDataset writes a camera that publishes /image from a timer, a filter that subscribes to it with and without
// intra-process communication and publishes /filtered from that callback, and a planner that polls /filtered in a timer
// and publishes /plan; and a second node named /planner on another machine that subscribes to /plan.
func robotDataset(t *testing.T) *trace.Dataset {
	t.Helper()
	dir := t.TempDir()
	key := robot
	tracetest.AddSegment(t, dir, 0, []trace.Node{
		{ProcessKey: key, NodeHandle: 0x10, NodeName: "camera", Namespace: "/"},
		{ProcessKey: key, NodeHandle: 0x20, NodeName: "filter", Namespace: "/perception"},
		{ProcessKey: key, NodeHandle: 0x30, NodeName: "planner", Namespace: "/"},
		{ProcessKey: remote, NodeHandle: 0x30, NodeName: "planner", Namespace: "/"},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Publisher{
		{ProcessKey: key, PublisherHandle: 0x11, NodeHandle: 0x10, TopicName: "/image", MessageType: "sensor_msgs/msg/Image"},
		{ProcessKey: key, PublisherHandle: 0x21, NodeHandle: 0x20, TopicName: "/filtered"},
		{ProcessKey: key, PublisherHandle: 0x31, NodeHandle: 0x30, TopicName: "/plan"},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Subscription{
		{ProcessKey: key, SubscriptionHandle: 0x22, NodeHandle: 0x20, TopicName: "/image"}, // known better below
		{ProcessKey: key, SubscriptionHandle: 0x22, NodeHandle: 0x20, TopicName: "/image", Subscription: 0x23, Callback: 0x24, IsIntraProcess: trace.Some(false), CallbackGroup: 0x50},
		{ProcessKey: key, SubscriptionHandle: 0x22, NodeHandle: 0x20, TopicName: "/image", Subscription: 0x25, Callback: 0x26, IsIntraProcess: trace.Some(true), Buffer: 0x27, CallbackGroup: 0x50},
		{ProcessKey: key, SubscriptionHandle: 0x32, NodeHandle: 0x30, TopicName: "/filtered", Subscription: 0x33, Callback: 0x34},
		{ProcessKey: remote, SubscriptionHandle: 0x32, NodeHandle: 0x30, TopicName: "/plan", Subscription: 0x33, Callback: 0x34},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Timer{
		{ProcessKey: key, TimerHandle: 0x12, NodeHandle: 0x10, Period: trace.Some(int64(100e6)), Callback: 0x13},
		{ProcessKey: key, TimerHandle: 0x35, NodeHandle: 0x30, Period: trace.Some(int64(50e6)), Callback: 0x36},
	})
	tracetest.AddSegment(t, dir, 0, []trace.ServiceServer{{ProcessKey: key, ServiceHandle: 0x37, NodeHandle: 0x30, ServiceName: "/replan", Callback: 0x38}})
	tracetest.AddSegment(t, dir, 0, []trace.Client{{ProcessKey: key, ClientHandle: 0x14, NodeHandle: 0x10, ServiceName: "/replan"}})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{
		{ProcessKey: key, Callback: 0x13, Kind: trace.KindTimer, Symbol: "Camera::shoot()"},
		{ProcessKey: key, Callback: 0x24, Kind: trace.KindSubscription, Symbol: "Filter::filter(Image)"},
		{ProcessKey: key, Callback: 0x99, Kind: trace.KindTimer, NodeName: "/camera", Symbol: "Camera::check()"},
	})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackGroup{{ProcessKey: key, CallbackGroup: 0x50, NodeHandle: 0x20, GroupTypeName: trace.Reentrant, Executor: 0x60}})
	tracetest.AddSegment(t, dir, 0, []trace.Executor{{ProcessKey: key, Executor: 0x60, ExecutorType: "multi_threaded_executor"}})
	tracetest.AddSegment(t, dir, 0, []trace.Publish{
		{ProcessKey: key, PublisherHandle: 0x11, Callback: 0x13, CallbackStartTimestamp: trace.Some(int64(1000))},
		{ProcessKey: key, PublisherHandle: 0x11, Callback: 0x13, CallbackStartTimestamp: trace.Some(int64(2000))},
		{ProcessKey: key, PublisherHandle: 0x11, RclcppPublishTimestamp: trace.Some(int64(2500))},
		{ProcessKey: key, PublisherHandle: 0x21, Callback: 0x26, CallbackStartTimestamp: trace.Some(int64(3000))},
		{ProcessKey: key, PublisherHandle: 0x31, Callback: 0x36, CallbackStartTimestamp: trace.Some(int64(4000))},
		{ProcessKey: key, RMWPublishTimestamp: trace.Some(int64(4100))}, // the middleware's own
	})
	tracetest.AddSegment(t, dir, 0, []trace.Take{
		{ProcessKey: key, SubscriptionHandle: 0x32, Callback: 0x36, CallbackStartTimestamp: trace.Some(int64(4000))},
	})
	tracetest.AddSession(t, dir, trace.NewSession())
	return tracetest.Open(t, dir)
}

func loadArchitecture(t *testing.T, datasets ...*trace.Dataset) *system.Architecture {
	t.Helper()
	a, err := system.Load(t.Context(), nil, datasets...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestArchitectureOfADataset(t *testing.T) {
	a := loadArchitecture(t, robotDataset(t))

	var nodes []string
	for _, n := range a.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s@%s", n.Name, n.Process.BootID))
	}
	if want := []string{"/camera@boot", "/perception/filter@boot", "/planner@boot", "/planner@other-boot"}; !slices.Equal(nodes, want) {
		t.Fatalf("nodes %v, want %v", nodes, want)
	}
	camera, filter, planner := a.Nodes[0], a.Nodes[1], a.Nodes[2]

	if got := names(camera.Callbacks); !slices.Equal(got, []string{"/camera/callback_0", "/camera/callback_1"}) {
		t.Errorf("callbacks of the camera: %v", got)
	}
	shoot := a.CallbackAt(robot, 0x13, 1000)
	if shoot == nil || shoot.Symbol != "Camera::shoot()" || shoot.Period != trace.Some(int64(100e6)) || shoot.Kind != trace.KindTimer {
		t.Fatalf("callback of the timer: %+v", shoot)
	}
	image := camera.Publishers[0]
	if len(shoot.Publishes) != 1 || shoot.Publishes[0].Publisher != image || shoot.Publishes[0].Count != 2 || image.OutsideCallbacks != 1 {
		t.Errorf("the timer publishes %+v, %d publishes outside of callbacks", shoot.Publishes, image.OutsideCallbacks)
	}

	if len(filter.Subscriptions) != 1 || len(filter.Callbacks) != 1 {
		t.Fatalf("the filter has %d subscriptions and %d callbacks: its two objects are one", len(filter.Subscriptions), len(filter.Callbacks))
	}
	receive := filter.Callbacks[0]
	if receive.Address != 0x24 || receive.IntraProcessAddress != 0x26 || receive != a.CallbackAt(robot, 0x26, 0) || receive.Symbol != "Filter::filter(Image)" {
		t.Errorf("the filter's callback: %+v", receive)
	}
	if a.BufferAt(robot, 0x27, 5) != filter.Subscriptions[0] || a.SubscriptionAt(robot, 0x22, 5) != filter.Subscriptions[0] {
		t.Error("the filter's subscription is not found by its buffer and handle")
	}
	if receive.Group == nil || receive.Group.Type != trace.Reentrant || receive.Group.Executor != a.Executors[0] || receive.Group.Name != "/perception/filter/callback_group_0" {
		t.Errorf("callback group: %+v", receive.Group)
	}
	if got := names(filter.Publishers[0].Callbacks); !slices.Equal(got, []string{"/perception/filter/callback_0"}) {
		t.Errorf("/filtered is published in %v", got)
	}

	if got := names(planner.Subscriptions[0].PolledBy); !slices.Equal(got, []string{"/planner/callback_0"}) {
		t.Errorf("/filtered is polled by %v", got)
	}
	if planner.Services[0].Callback.Name != "/planner/service_callback_0" {
		t.Errorf("service callback %q", planner.Services[0].Callback.Name)
	}

	var communications []string
	for _, c := range a.Communications {
		communications = append(communications, c.Publisher.Node.Name+" "+c.TopicName+" "+c.Subscription.Node.Name)
	}
	if want := []string{"/camera /image /perception/filter", "/perception/filter /filtered /planner", "/planner /plan /planner"}; !slices.Equal(communications, want) {
		t.Errorf("communications %v, want %v", communications, want)
	}
}

func names(callbacks []*system.Callback) []string {
	var names []string
	for _, c := range callbacks {
		names = append(names, c.Name)
	}
	return names
}

// An address that is used again belongs to what lived there when the event happened, and a row that is told again,
// better, is one.
func TestArchitectureKeepsTheLivesOfAnAddressApart(t *testing.T) {
	dir := t.TempDir()
	node := trace.Node{ProcessKey: robot, NodeHandle: 0x10, NodeName: "node", Namespace: "/"}
	tracetest.AddSegment(t, dir, 0, []trace.Node{node})
	first := trace.Timer{ProcessKey: robot, TimerHandle: 0x20, NodeHandle: 0x10, Callback: 0x21, Period: trace.Some(int64(10))}
	ended := first
	ended.EndTimestamp = trace.Some(int64(500))
	second := trace.Timer{ProcessKey: robot, TimerHandle: 0x20, NodeHandle: 0x10, Callback: 0x21, InitTimestamp: trace.Some(int64(600))}
	better := second
	better.Period = trace.Some(int64(20))
	tracetest.AddSegment(t, dir, 0, []trace.Timer{first, ended, second, better, ended})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{
		{ProcessKey: robot, Callback: 0x21, Symbol: "first()", EndTimestamp: trace.Some(int64(500))},
		{ProcessKey: robot, Callback: 0x21, Symbol: "second()", InitTimestamp: trace.Some(int64(600))},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Publisher{{ProcessKey: robot, PublisherHandle: 0x30, NodeHandle: 0x10, TopicName: "/topic"}})
	publish := func(at int64) trace.Publish {
		return trace.Publish{ProcessKey: robot, PublisherHandle: 0x30, Callback: 0x21, CallbackStartTimestamp: trace.Some(at)}
	}
	tracetest.AddSegment(t, dir, 0, []trace.Publish{publish(100), publish(499), publish(550), publish(600)})
	tracetest.AddSession(t, dir, trace.NewSession())
	a := loadArchitecture(t, tracetest.Open(t, dir))

	if n := len(a.Nodes[0].Timers); n != 2 {
		t.Fatalf("%d timers, want 2", n)
	}
	for _, want := range []struct {
		at     int64
		symbol string
		period int64
		count  uint64
	}{{100, "first()", 10, 2}, {600, "second()", 20, 1}} {
		c := a.CallbackAt(robot, 0x21, want.at)
		if c == nil || c.Symbol != want.symbol || c.Period.Value != want.period || len(c.Publishes) != 1 || c.Publishes[0].Count != want.count {
			t.Errorf("at %d: %+v, want %+v", want.at, c, want)
		}
	}
	if c := a.CallbackAt(robot, 0x21, 550); c != nil {
		t.Errorf("between the lives: %+v, want nothing", c)
	}
}

func TestArchitectureOfSeveralDatasets(t *testing.T) {
	make := func(process trace.ProcessKey, fill func(dir string)) *trace.Dataset {
		dir := t.TempDir()
		tracetest.AddSegment(t, dir, 0, []trace.Node{{ProcessKey: process, NodeHandle: 0x10, NodeName: "node", Namespace: "/"}})
		fill(dir)
		tracetest.AddSession(t, dir, trace.NewSession())
		return tracetest.Open(t, dir)
	}
	here := make(robot, func(dir string) {
		tracetest.AddSegment(t, dir, 0, []trace.Publisher{{ProcessKey: robot, PublisherHandle: 0x20, NodeHandle: 0x10, TopicName: "/topic"}})
	})
	there := make(remote, func(dir string) {
		tracetest.AddSegment(t, dir, 0, []trace.Subscription{{ProcessKey: remote, SubscriptionHandle: 0x20, NodeHandle: 0x10, TopicName: "/topic"}})
	})
	a := loadArchitecture(t, here, there)
	if len(a.Nodes) != 2 || len(a.Communications) != 1 || a.Communications[0].Publisher.Node == a.Communications[0].Subscription.Node {
		t.Errorf("%d nodes, communications %+v", len(a.Nodes), a.Communications)
	}
}
