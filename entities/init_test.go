package entities

import (
	"debug/elf"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// event makes an initialization event. Strings among the arguments become its strings.
func event(id abi.Event, time int64, arguments ...any) InitEvent {
	e := InitEvent{Event: id, Time: time}
	for i, argument := range arguments {
		switch value := argument.(type) {
		case string:
			e.Arguments[i] = 0xbad
			if e.String1 == "" {
				e.String1 = value
			} else {
				e.String2 = value
			}
		case int:
			e.Arguments[i] = uint64(value)
		case uint64:
			e.Arguments[i] = value
		case trace.Address:
			e.Arguments[i] = uint64(value)
		default:
			panic(value)
		}
	}
	return e
}

// The addresses of the entities of startingProcess.
const (
	nodeHandle, rmwNode                     = 0x1000, 0x1100
	publisherHandle, rmwPublisher           = 0x2000, 0x2100
	subscriptionHandle, rmwSubscription     = 0x3000, 0x3100
	intraObject, subscriptionObject         = 0x4000, 0x5000
	timerHandle, timerCallback              = 0x6000, 0x6100
	serviceHandle, rmwService, serviceAdded = 0x7000, 0x7100, 0x7200
)

// startingProcess returns the events of a node with one of everything, in the order in which rclcpp calls the
// tracepoints, and the addresses of the subscription's two callbacks.
func startingProcess(layout *layouts.Layout) (events []InitEvent, intraCallback, callback trace.Address) {
	for _, owner := range layout.Owners {
		switch owner.Kind {
		case layouts.OwnerSubscriptionIntraProcess:
			intraCallback = intraObject + trace.Address(owner.Callback)
		case layouts.OwnerSubscription:
			callback = subscriptionObject + trace.Address(owner.Callback)
		}
	}
	return []InitEvent{
		event(abi.EventRclNodeInit, 10, nodeHandle, rmwNode, "talker", "/demo"),
		event(abi.EventRclPublisherInit, 20, publisherHandle, nodeHandle, rmwPublisher, "/chatter", 10),
		event(abi.EventRclSubscriptionInit, 30, subscriptionHandle, nodeHandle, rmwSubscription, "/commands", 5),
		event(abi.EventRclcppSubscriptionCallbackAdded, 31, intraObject, intraCallback),
		event(abi.EventRclcppCallbackRegister, 32, intraCallback, "Talker::on_command(Command)"),
		event(abi.EventRclcppSubscriptionInit, 33, subscriptionHandle, intraObject),
		event(abi.EventRclcppSubscriptionInit, 34, subscriptionHandle, subscriptionObject),
		event(abi.EventRclcppSubscriptionCallbackAdded, 35, subscriptionObject, callback),
		event(abi.EventRclcppCallbackRegister, 36, callback, "Talker::on_command(Command)"),
		event(abi.EventRclTimerInit, 40, timerHandle, 500_000_000),
		event(abi.EventRclcppTimerCallbackAdded, 41, timerHandle, timerCallback),
		event(abi.EventRclcppCallbackRegister, 42, timerCallback, "Talker::tick()"),
		event(abi.EventRclcppTimerLinkNode, 43, timerHandle, nodeHandle),
		event(abi.EventRclServiceInit, 50, serviceHandle, nodeHandle, rmwService, "/demo/reset"),
		event(abi.EventRclcppServiceCallbackAdded, 51, serviceHandle, serviceAdded),
		event(abi.EventRclcppCallbackRegister, 52, serviceAdded, "Talker::reset()"),
	}, intraCallback, callback
}

func wantedRows(intraCallback, callback trace.Address) trace.Batch {
	subscription := trace.Subscription{
		ProcessKey: testKey, SubscriptionHandle: subscriptionHandle, NodeHandle: nodeHandle, RMWSubscriptionHandle: rmwSubscription,
		TopicName: "/commands", QueueDepth: trace.Some(uint64(5)), NodeName: "/demo/talker", InitTimestamp: trace.Some(int64(30)),
		Provenance: trace.FromTracepoint,
	}
	intra, inter := subscription, subscription
	intra.Subscription, intra.Callback, intra.IsIntraProcess = intraObject, intraCallback, trace.Some(true)
	inter.Subscription, inter.Callback, inter.IsIntraProcess = subscriptionObject, callback, trace.Some(false)
	info := trace.CallbackInfo{
		ProcessKey: testKey, NodeName: "/demo/talker", OwnerHandle: subscriptionHandle, TopicName: "/commands",
		Symbol: "Talker::on_command(Command)", Provenance: trace.FromTracepoint,
	}
	intraInfo, interInfo, timerInfo, serviceInfo := info, info, info, info
	intraInfo.Callback, intraInfo.Kind, intraInfo.InitTimestamp = intraCallback, trace.KindIntraProcessSubscription, trace.Some(int64(31))
	interInfo.Callback, interInfo.Kind, interInfo.InitTimestamp = callback, trace.KindSubscription, trace.Some(int64(35))
	timerInfo.Callback, timerInfo.Kind, timerInfo.InitTimestamp = timerCallback, trace.KindTimer, trace.Some(int64(41))
	timerInfo.OwnerHandle, timerInfo.TopicName, timerInfo.Period, timerInfo.Symbol = timerHandle, "", trace.Some(int64(5e8)), "Talker::tick()"
	serviceInfo.Callback, serviceInfo.Kind, serviceInfo.InitTimestamp = serviceAdded, trace.KindService, trace.Some(int64(51))
	serviceInfo.OwnerHandle, serviceInfo.TopicName, serviceInfo.Symbol = serviceHandle, "/demo/reset", "Talker::reset()"
	return trace.Batch{
		Nodes: []trace.Node{{
			ProcessKey: testKey, NodeHandle: nodeHandle, RMWHandle: rmwNode, NodeName: "talker", Namespace: "/demo",
			InitTimestamp: trace.Some(int64(10)), Provenance: trace.FromTracepoint,
		}},
		Publishers: []trace.Publisher{{
			ProcessKey: testKey, PublisherHandle: publisherHandle, NodeHandle: nodeHandle, RMWPublisherHandle: rmwPublisher,
			TopicName: "/chatter", QueueDepth: trace.Some(uint64(10)), NodeName: "/demo/talker", InitTimestamp: trace.Some(int64(20)),
			Provenance: trace.FromTracepoint,
		}},
		Subscriptions: []trace.Subscription{intra, inter},
		Timers: []trace.Timer{{
			ProcessKey: testKey, TimerHandle: timerHandle, Period: trace.Some(int64(5e8)), NodeHandle: nodeHandle, NodeName: "/demo/talker",
			Callback: timerCallback, InitTimestamp: trace.Some(int64(40)), Provenance: trace.FromTracepoint,
		}},
		ServiceServers: []trace.ServiceServer{{
			ProcessKey: testKey, ServiceHandle: serviceHandle, NodeHandle: nodeHandle, RMWServiceHandle: rmwService,
			ServiceName: "/demo/reset", Callback: serviceAdded, NodeName: "/demo/talker", InitTimestamp: trace.Some(int64(50)),
			Provenance: trace.FromTracepoint,
		}},
		CallbackInfos: []trace.CallbackInfo{intraInfo, interInfo, timerInfo, serviceInfo},
	}
}

// TestStartingProcess feeds all events and asks for the rows in all rhythms: they come once, and whole.
func TestStartingProcess(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		events, intraCallback, callback := startingProcess(m.layout)
		want := wantedRows(intraCallback, callback)
		for name, askAfter := range map[string]func(i int) bool{
			"at the end": func(int) bool { return false }, "after each event": func(int) bool { return true },
			"now and then": func(i int) bool { return i%5 == 0 },
		} {
			t.Run(name, func(t *testing.T) {
				g := New(testKey)
				g.SetMemory(nil, m.layout)
				last := make(map[any]any)
				told := 0
				collect := func(rows trace.Batch) {
					for key, row := range rowsByKey(rows) {
						last[key] = row
						told++
					}
				}
				for i, e := range events {
					g.Init(e)
					if askAfter(i) {
						collect(g.Rows(false))
					}
				}
				collect(g.Rows(true))
				if name == "after each event" { // too fast to wait for the objects of the subscription
					delete(last, rowKey{table: "subscription"})
				}
				compareRows(t, last, rowsByKey(want))
				if name == "at the end" && told != len(last) {
					t.Errorf("%d rows told for %d entities", told, len(last))
				}
				if again := rowsByKey(g.Rows(true)); len(again) != 0 {
					t.Errorf("told again without a change: %+v", again)
				}
			})
		}
	})
}

// compareRows reports the rows that differ.
func compareRows(t testing.TB, got, want map[any]any) {
	t.Helper()
	for key, row := range want {
		if got[key] != row {
			t.Errorf("%v:\ngot  %+v\nwant %+v", key, got[key], row)
		}
	}
	for key, row := range got {
		if _, wanted := want[key]; !wanted {
			t.Errorf("unexpected %+v", row)
		}
	}
}

type rowKey struct {
	table          string
	handle, object trace.Address
}

// rowsByKey maps what identifies a row to the row.
func rowsByKey(rows trace.Batch) map[any]any {
	byKey := make(map[any]any)
	for _, row := range rows.Nodes {
		byKey[rowKey{"node", row.NodeHandle, 0}] = row
	}
	for _, row := range rows.Publishers {
		byKey[rowKey{"publisher", row.PublisherHandle, 0}] = row
	}
	for _, row := range rows.Subscriptions {
		byKey[rowKey{"subscription", 0, row.Subscription}] = row
	}
	for _, row := range rows.Timers {
		byKey[rowKey{"timer", row.TimerHandle, 0}] = row
	}
	for _, row := range rows.ServiceServers {
		byKey[rowKey{"service", row.ServiceHandle, 0}] = row
	}
	for _, row := range rows.Clients {
		byKey[rowKey{"client", row.ClientHandle, 0}] = row
	}
	for _, row := range rows.CallbackInfos {
		byKey[rowKey{"callback", row.Callback, 0}] = row
	}
	for _, row := range rows.CallbackGroups {
		byKey[rowKey{"callback group", row.CallbackGroup, 0}] = row
	}
	for _, row := range rows.Executors {
		byKey[rowKey{"executor", row.Executor, 0}] = row
	}
	for _, row := range rows.Contexts {
		byKey[rowKey{"context", row.ContextHandle, 0}] = row
	}
	for _, row := range rows.LifecycleStateMachines {
		byKey[rowKey{"state machine", row.StateMachine, 0}] = row
	}
	return byKey
}

// TestWithoutLayoutTheOrderTells: of two objects of a subscription the first is the intra-process one.
func TestWithoutLayoutTheOrderTells(t *testing.T) {
	layout, err := layouts.For("jazzy", elf.EM_X86_64, nil)
	if err != nil {
		t.Fatal(err)
	}
	events, intraCallback, callback := startingProcess(layout)
	g := New(testKey)
	for _, e := range events {
		g.Init(e)
	}
	compareRows(t, rowsByKey(g.Rows(true)), rowsByKey(wantedRows(intraCallback, callback)))
}

// TestBufferIsKeptUntilItsObjectIsKnown: Humble's event tells the buffer of an object before anything tells, without
// memory, that the object is the intra-process one.
func TestBufferIsKeptUntilItsObjectIsKnown(t *testing.T) {
	const ring, ipb, capacity = 0x7100, 0x7200, 5
	for name, test := range map[string]struct {
		with trace.Address // the object whose event tells of a buffer
		want trace.Address
	}{
		"of the intra-process object": {intraObject, ring},
		"of the other one":            {subscriptionObject, 0},
	} {
		t.Run(name, func(t *testing.T) {
			layout, err := layouts.For("humble", elf.EM_X86_64, nil)
			if err != nil {
				t.Fatal(err)
			}
			events, intraCallback, _ := startingProcess(layout)
			g := New(testKey)
			for _, e := range events {
				if e.Event == abi.EventRclcppSubscriptionCallbackAdded && e.Arguments[0] == uint64(test.with) {
					e.Arguments[2], e.Arguments[3], e.Arguments[4] = ring, capacity, ipb
				}
				g.Init(e)
			}
			if got := g.BufferOfCallback(intraCallback, now); got != test.want {
				t.Errorf("the callback's buffer is %v, want %v", got, test.want)
			}
			for _, row := range g.Rows(true).Subscriptions {
				if row.Buffer != 0 && !row.IsIntraProcess.Value {
					t.Errorf("a buffer of an object without intra-process communication: %+v", row)
				}
			}
		})
	}
}

func TestLookupsOfStartedProcess(t *testing.T) {
	layout, err := layouts.For("humble", elf.EM_X86_64, nil)
	if err != nil {
		t.Fatal(err)
	}
	events, intraCallback, _ := startingProcess(layout)
	g := New(testKey)
	g.SetMemory(nil, layout)
	for _, e := range events {
		g.Init(e)
	}
	if p, ok := g.Publisher(publisherHandle, 100); !ok || p.TopicName != "/chatter" || p.NodeName != "/demo/talker" {
		t.Errorf("publisher %+v, %v", p, ok)
	}
	if p, ok := g.PublisherByRMW(rmwPublisher, 100); !ok || p.PublisherHandle != publisherHandle {
		t.Errorf("rmw publisher %+v, %v", p, ok)
	}
	if s, ok := g.SubscriptionByRMW(rmwSubscription, 100); !ok || s.SubscriptionHandle != subscriptionHandle || s.TopicName != "/commands" {
		t.Errorf("rmw subscription %+v, %v", s, ok)
	}
	if c, ok := g.Callback(intraCallback, 100); !ok || c.Kind != trace.KindIntraProcessSubscription {
		t.Errorf("callback %+v, %v", c, ok)
	}
	if n, ok := g.Node(nodeHandle, 100); !ok || n.NodeName != "talker" {
		t.Errorf("node %+v, %v", n, ok)
	}
	for _, early := range []int64{0, 19} {
		if p, ok := g.Publisher(publisherHandle, early); ok {
			t.Errorf("publisher known at %d, before it was made: %+v", early, p)
		}
	}
}

func TestAddressesAreReused(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	handle, rmw := m.publisher("/old", 1)
	g := m.graph()
	g.Publisher(trace.Address(handle), 50)
	g.Init(event(abi.EventRclPublisherInit, 100, handle, nodeHandle, rmw, "/new", 2))
	g.Init(event(abi.EventRclPublisherInit, 200, handle, nodeHandle, rmw, "/newest", 3))
	for time, topic := range map[int64]string{0: "/old", 99: "/old", 100: "/new", 199: "/new", 200: "/newest", 1 << 60: "/newest"} {
		if got, ok := g.Publisher(trace.Address(handle), time); !ok || got.TopicName != topic {
			t.Errorf("at %d: %+v, %v, want %s", time, got, ok, topic)
		}
		if got, ok := g.PublisherByRMW(trace.Address(rmw), time); !ok || got.TopicName != topic {
			t.Errorf("rmw at %d: %+v, %v, want %s", time, got, ok, topic)
		}
	}
	if rows := g.Rows(true).Publishers; len(rows) != 3 {
		t.Errorf("%d rows of 3 publishers", len(rows))
	}
}

// TestDeadEntityIsNotReadFromItsSuccessor: memory shows who lives at an address now, not who lived there before.
func TestDeadEntityIsNotReadFromItsSuccessor(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	handle, rmw := m.publisher("/new", 1)
	timer := m.timer(5e8)
	_, callback := m.timerObject(talkerTimer, timer)
	g := m.graph()
	g.Init(event(abi.EventRclPublisherInit, 100, handle, nodeHandle, rmw, "/new", 2))
	g.Init(event(abi.EventRclTimerInit, 100, timer, 500_000_000))
	if got, ok := g.Publisher(trace.Address(handle), 50); ok {
		t.Errorf("publisher %+v", got)
	}
	if got, ok := g.Callback(callback, 50); ok {
		t.Errorf("callback %+v", got)
	}
	subscription, rmwSubscription := m.subscription("/new", 1)
	_, subscriptionCallback := m.subscriptionObject(subscription, m.node("listener", "/"))
	service := m.service("/new")
	_, serviceCallback := m.serviceObject(service, m.node("server", "/"))
	g.Init(event(abi.EventRclSubscriptionInit, 100, subscription, nodeHandle, rmwSubscription, "/new", 2))
	g.Init(event(abi.EventRclServiceInit, 100, service, nodeHandle, rmwService, "/new"))
	for _, address := range []trace.Address{subscriptionCallback, serviceCallback} {
		if got, ok := g.Callback(address, 50); ok {
			t.Errorf("callback %+v", got)
		}
		if got, ok := g.Callback(address, 150); !ok || got.TopicName != "/new" {
			t.Errorf("callback of the living: %+v, %v", got, ok)
		}
	}
	if got, ok := g.Callback(callback, 150); !ok || got.Period != trace.Some(int64(5e8)) {
		t.Errorf("callback of the living timer: %+v, %v", got, ok)
	}
}

func TestCallbackAddressIsReused(t *testing.T) {
	g := New(testKey)
	for i, symbol := range []string{"first", "second"} {
		at := int64(100 * (i + 1))
		g.Init(event(abi.EventRclTimerInit, at, timerHandle, 1000*(i+1)))
		g.Init(event(abi.EventRclcppTimerCallbackAdded, at+1, timerHandle, timerCallback))
		g.Init(event(abi.EventRclcppCallbackRegister, at+2, timerCallback, symbol))
	}
	for time, want := range map[int64]string{150: "first", 250: "second"} {
		got, ok := g.Callback(timerCallback, time)
		if !ok || got.Symbol != want || !got.Period.Valid {
			t.Errorf("at %d: %+v, %v, want %s", time, got, ok, want)
		}
	}
	if rows := g.Rows(true); len(rows.CallbackInfos) != 2 || len(rows.Timers) != 2 {
		t.Errorf("rows %+v", rows)
	}
}

func TestEntityBornDuringAttachIsCompletedFromMemory(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	node := m.node("late", "/")
	timer := m.timer(2e9)
	_, callback := m.timerObject(talkerTimer, timer)
	g := m.graph()
	g.Init(event(abi.EventRclcppTimerCallbackAdded, 10, timer, callback))
	g.Init(event(abi.EventRclcppTimerLinkNode, 11, timer, node))
	got, ok := g.Callback(callback, 20)
	if !ok || got.Kind != trace.KindTimer || got.Period != trace.Some(int64(2e9)) || got.NodeName != "/late" {
		t.Errorf("got %+v, %v", got, ok)
	}
}

// TestSymbolThatIsNotRegistered: only with LTTng does rclcpp say which function a callback runs.
func TestSymbolThatIsNotRegistered(t *testing.T) {
	for name, registered := range map[string]string{
		"not registered": "", "placeholder": "DISABLED__TRACETOOLS_LTTNG", "registered": "Talker::tick()",
	} {
		t.Run(name, func(t *testing.T) {
			m := newImage(t, "jazzy", elf.EM_X86_64)
			timer := m.timer(1e9)
			_, callback := m.timerObject(talkerTimer, timer)
			g := m.graph()
			g.Init(event(abi.EventRclTimerInit, 1, timer, 1_000_000_000))
			g.Init(event(abi.EventRclcppTimerCallbackAdded, 2, timer, callback))
			want := "std::_Bind<void (Talker::*(Talker*))()>"
			if registered != "" {
				g.Init(event(abi.EventRclcppCallbackRegister, 3, callback, registered))
			}
			if registered == "Talker::tick()" {
				want = registered
			}
			if got, ok := g.Callback(callback, 4); !ok || got.Symbol != want || got.Kind != trace.KindTimer {
				t.Errorf("got %+v, %v, want %s", got, ok, want)
			}
		})
	}
}

func TestUnreadableStringsAreReadFromMemory(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	node := m.node("talker", "/demo")
	publisher, rmwPublisher := m.publisher("/chatter", 1)
	subscription, rmwSubscription := m.subscription("/commands", 1)
	g := m.graph()
	g.Init(event(abi.EventRclNodeInit, 1, node, 0x10, 0xbad, 0xbad))
	g.Init(event(abi.EventRclPublisherInit, 2, publisher, node, rmwPublisher, 0xbad, 1))
	g.Init(event(abi.EventRclSubscriptionInit, 3, subscription, node, rmwSubscription, 0xbad, 1))
	if p, ok := g.Publisher(trace.Address(publisher), 5); !ok || p.TopicName != "/chatter" || p.NodeName != "/demo/talker" {
		t.Errorf("publisher %+v", p)
	}
	if s, ok := g.SubscriptionByRMW(trace.Address(rmwSubscription), 5); !ok || s.TopicName != "/commands" {
		t.Errorf("subscription %+v", s)
	}
}

// TestLostEventsDoNotCrossLink: when events of an object were lost, those of its successor at the address do not
// complete it.
func TestLostEventsDoNotCrossLink(t *testing.T) {
	g := New(testKey)
	g.Init(event(abi.EventRclSubscriptionInit, 0, 0xa000, nodeHandle, 0xa100, "/old", 1))
	g.Init(event(abi.EventRclcppSubscriptionCallbackAdded, 1, subscriptionObject, subscriptionObject+0x100))
	later := int64(60e9)
	g.Init(event(abi.EventRclSubscriptionInit, later, subscriptionHandle, nodeHandle, rmwSubscription, "/new", 1))
	g.Init(event(abi.EventRclcppSubscriptionInit, later+1, subscriptionHandle, subscriptionObject))
	if got, ok := g.Callback(subscriptionObject+0x100, 2); !ok || got.TopicName != "" {
		t.Errorf("the old callback got a topic: %+v", got)
	}
}

// TestLostRegistrationDoesNotLendItsSymbol: the symbol of an old callback is not that of its successor.
func TestLostRegistrationDoesNotLendItsSymbol(t *testing.T) {
	g := New(testKey)
	g.Init(event(abi.EventRclcppCallbackRegister, 1, timerCallback, "old"))
	later := int64(60e9)
	g.Init(event(abi.EventRclTimerInit, later, timerHandle, 1000))
	g.Init(event(abi.EventRclcppTimerCallbackAdded, later+1, timerHandle, timerCallback))
	if got, ok := g.Callback(timerCallback, later+2); !ok || got.Symbol != "" {
		t.Errorf("got %+v, %v", got, ok)
	}
}

// TestObjectInMemoryIsNotCompletedByItsSuccessor: an intra-process object found in memory has no subscription; the one
// that takes its address does not lend it its own.
func TestObjectInMemoryIsNotCompletedByItsSuccessor(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	object, _, callback := m.intraProcessObject("/intra")
	g := m.graph()
	if _, ok := g.Callback(callback, 1); !ok {
		t.Fatal(g.Unknown())
	}
	g.Init(event(abi.EventRclSubscriptionInit, 100, subscriptionHandle, nodeHandle, rmwSubscription, "/other", 5))
	g.Init(event(abi.EventRclcppSubscriptionInit, 101, subscriptionHandle, object))
	if got, ok := g.Callback(callback, 50); !ok || got.TopicName != "/intra" || got.OwnerHandle != 0 {
		t.Errorf("got %+v, %v", got, ok)
	}
}

func TestNodeThatIsReadableLater(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	node := m.node("talker", "/demo")
	impl := m.get(node + m.layout.Node.Impl)
	m.set(node+m.layout.Node.Impl, 0)
	subscription, rmw := m.subscription("/commands", 1)
	object, _ := m.subscriptionObject(subscription, node)
	g := m.graph()
	g.Init(event(abi.EventRclPublisherInit, 10, publisherHandle, node, rmwPublisher, "/chatter", 1))
	g.Init(event(abi.EventRclTimerInit, 11, timerHandle, 1000))
	g.Init(event(abi.EventRclcppTimerLinkNode, 12, timerHandle, node))
	g.Init(event(abi.EventRclSubscriptionInit, 13, subscription, node, rmw, "/commands", 1))
	g.Init(event(abi.EventRclcppSubscriptionInit, 14, subscription, object))
	g.Rows(false)
	m.set(node+m.layout.Node.Impl, impl)
	for range maxAttempts {
		g.Rows(false)
	}
	rows := g.Rows(true)
	if p, _ := g.Publisher(publisherHandle, 20); p.NodeName != "/demo/talker" {
		t.Errorf("publisher %+v", *p)
	}
	if timer, _ := g.timers.at(timerHandle, 20); timer.current.NodeName != "/demo/talker" {
		t.Errorf("timer %+v", timer.current)
	}
	if s, _ := g.SubscriptionByRMW(trace.Address(rmw), 20); s.NodeName != "/demo/talker" {
		t.Errorf("subscription %+v, rows %+v", *s, rows)
	}
}

func TestRowIsNotToldAgainWithoutAChange(t *testing.T) {
	g := New(testKey)
	for i := range 3 {
		g.Init(event(abi.EventRclcppCallbackRegister, int64(i), timerCallback, "Talker::tick()"))
		if rows := g.Rows(true).CallbackInfos; (len(rows) == 1) != (i == 0) {
			t.Errorf("call %d tells %+v", i, rows)
		}
	}
}

func TestIncompleteRowsAreHeldBackThenTold(t *testing.T) {
	g := New(testKey)
	g.Init(event(abi.EventRclTimerInit, 1, timerHandle, 1000))
	for call := range patience {
		if rows := g.Rows(false).Timers; len(rows) != 0 {
			t.Fatalf("call %d told %+v", call, rows)
		}
	}
	if rows := g.Rows(false).Timers; len(rows) != 1 || rows[0].NodeName != "" {
		t.Fatalf("not told: %+v", rows)
	}
	g.Init(event(abi.EventRclNodeInit, 2, nodeHandle, rmwNode, "talker", "/"))
	g.Init(event(abi.EventRclcppTimerCallbackAdded, 3, timerHandle, timerCallback))
	g.Init(event(abi.EventRclcppTimerLinkNode, 4, timerHandle, nodeHandle))
	if rows := g.Rows(false).Timers; len(rows) != 1 || rows[0].NodeName != "/talker" || rows[0].Callback != timerCallback {
		t.Errorf("the improvement was not told: %+v", rows)
	}
}

func TestSubscriptionWithoutObjectHasARow(t *testing.T) {
	g := New(testKey)
	g.Init(event(abi.EventRclSubscriptionInit, 1, subscriptionHandle, nodeHandle, rmwSubscription, "/commands", 5))
	rows := g.Rows(true).Subscriptions
	if len(rows) != 1 || rows[0].Subscription != 0 || rows[0].TopicName != "/commands" {
		t.Errorf("rows %+v", rows)
	}
}

func TestManyLivesAtOneAddressAreBounded(t *testing.T) {
	g := New(testKey)
	rows := 0
	for i := range 10_000 {
		g.Init(event(abi.EventRclTimerInit, int64(10*i), timerHandle, i+1))
		g.Init(event(abi.EventRclcppTimerCallbackAdded, int64(10*i+1), timerHandle, timerCallback))
		rows += len(g.Rows(i == 9_999).Timers)
	}
	if rows != 10_000 {
		t.Errorf("%d rows of 10000 timers", rows)
	}
	if n := len(g.timers.lives[timerHandle]); n > maxLives {
		t.Errorf("%d lives are kept", n)
	}
	if n := len(g.callbacks.lives[timerCallback]); n > maxLives {
		t.Errorf("%d lives of the callback are kept", n)
	}
}

func TestNullAndUnknownEventsAreIgnored(t *testing.T) {
	g := New(testKey)
	for id := range 256 {
		g.Init(InitEvent{Event: abi.Event(id), Time: 1})
	}
	g.Init(event(19, 1, 0x1000, 0x2000, 0x3000, "/before the first"))
	if rows := rowsByKey(g.Rows(true)); len(rows) != 0 {
		t.Errorf("rows %+v", rows)
	}
}
