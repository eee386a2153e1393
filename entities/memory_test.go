package entities

import (
	"debug/elf"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

const talkerTimer = "N6rclcpp9WallTimerISt5_BindIFM6TalkerFvvEPS2_EELPv0EEE"

// eachLayout runs a test with the image of every distribution on every architecture.
func eachLayout(t *testing.T, test func(t *testing.T, m *image)) {
	for _, released := range distros.Released() {
		distro := string(released)
		for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
			t.Run(distro+"/"+machine.String(), func(t *testing.T) { test(t, newImage(t, distro, machine)) })
		}
	}
}

func TestCallbacksOfRunningProcess(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		node := m.node("talker", "/demo")
		timer := m.timer(100e6)
		_, timerCallback := m.timerObject(talkerTimer, timer)
		subscription, _ := m.subscription("/chatter", 7)
		_, subscriptionCallback := m.subscriptionObject(subscription, node)
		_, _, intraCallback := m.intraProcessObject("/intra")
		service := m.service("/demo/reset")
		_, serviceCallback := m.serviceObject(service, node)
		g := m.graph()
		for _, want := range []trace.CallbackInfo{
			{
				Callback: timerCallback, Kind: trace.KindTimer, OwnerHandle: trace.Address(timer), Period: trace.Some(int64(100e6)),
				Symbol: "std::_Bind<void (Talker::*(Talker*))()>",
			},
			{
				Callback: subscriptionCallback, Kind: trace.KindSubscription, OwnerHandle: trace.Address(subscription),
				TopicName: "/chatter", NodeName: "/demo/talker",
			},
			{Callback: intraCallback, Kind: trace.KindIntraProcessSubscription, TopicName: "/intra"},
			{
				Callback: serviceCallback, Kind: trace.KindService, OwnerHandle: trace.Address(service),
				TopicName: "/demo/reset", NodeName: "/demo/talker",
			},
		} {
			want.ProcessKey, want.Provenance = testKey, trace.FromMemory
			got, ok := g.Callback(want.Callback, 1000)
			if !ok {
				t.Errorf("%s callback unknown: %v", want.Kind, g.Unknown())
				continue
			}
			if *got != want {
				t.Errorf("got  %+v\nwant %+v", *got, want)
			}
		}
	})
}

func TestPublisherOfRunningProcess(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		handle, rmw := m.publisher("/chatter", 10)
		g := m.graph()
		byRMW, ok := g.PublisherByRMW(trace.Address(rmw), 5)
		if !ok || byRMW.TopicName != "/chatter" || byRMW.PublisherHandle != 0 {
			t.Fatalf("by rmw handle: %+v, %v, %v", byRMW, ok, g.Unknown())
		}
		want := trace.Publisher{
			ProcessKey: testKey, PublisherHandle: trace.Address(handle), RMWPublisherHandle: trace.Address(rmw), TopicName: "/chatter",
			QueueDepth: trace.Some(uint64(10)), Provenance: trace.FromMemory,
		}
		if got, ok := g.Publisher(trace.Address(handle), 5); !ok || *got != want {
			t.Fatalf("got %+v, %v, want %+v", got, ok, want)
		}
		if *byRMW != want {
			t.Errorf("the publisher known by its rmw handle did not become the same: %+v", *byRMW)
		}
		if rows := g.Rows(true); len(rows.Publishers) != 1 || rows.Publishers[0] != want {
			t.Errorf("rows %+v", rows.Publishers)
		}
	})
}

func TestSubscriptionOfRunningProcessIsOneEntity(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		handle, rmw := m.subscription("/chatter", 3)
		object, callback := m.subscriptionObject(handle, m.node("listener", "/"))
		g := m.graph()
		taken, ok := g.SubscriptionByRMW(trace.Address(rmw), 5)
		if !ok || taken.TopicName != "/chatter" || taken.SubscriptionHandle != 0 {
			t.Fatalf("by rmw handle: %+v, %v, %v", taken, ok, g.Unknown())
		}
		if _, ok := g.Callback(callback, 6); !ok {
			t.Fatalf("callback unknown: %v", g.Unknown())
		}
		if taken, _ := g.SubscriptionByRMW(trace.Address(rmw), 7); taken.SubscriptionHandle != trace.Address(handle) ||
			taken.NodeName != "/listener" {
			t.Errorf("after the callback: %+v", *taken)
		}
		want := trace.Subscription{
			ProcessKey: testKey, SubscriptionHandle: trace.Address(handle), NodeHandle: g.Rows(true).Subscriptions[0].NodeHandle,
			RMWSubscriptionHandle: trace.Address(rmw), TopicName: "/chatter", QueueDepth: trace.Some(uint64(3)),
			Subscription: trace.Address(object), Callback: callback, IsIntraProcess: trace.Some(false), NodeName: "/listener",
			MessageType: "std_msgs/msg/String", Provenance: trace.FromMemory,
		}
		if rows := g.Rows(true).Subscriptions; len(rows) != 0 {
			t.Errorf("told twice: %+v", rows)
		}
		if got, _ := g.objects.at(trace.Address(object), 7); got.current != want {
			t.Errorf("got  %+v\nwant %+v", got.current, want)
		}
	})
}

func TestIntraProcessObjectHasItsBuffer(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		object, ring, callback := m.intraProcessObject("/intra")
		g := m.graph()
		if _, ok := g.Callback(callback, 5); !ok {
			t.Fatal(g.Unknown())
		}
		want := trace.Subscription{
			ProcessKey: testKey, TopicName: "/intra", Subscription: trace.Address(object), Callback: callback,
			IsIntraProcess: trace.Some(true), Buffer: trace.Address(ring), Capacity: trace.Some(uint64(ringCapacity)),
			IPB:         trace.Address(m.get(object + m.layout.SubscriptionIntraProcess.Buffer)),
			MessageType: "std_msgs/msg/String", Provenance: trace.FromMemory,
		}
		if rows := g.Rows(true).Subscriptions; len(rows) != 1 || rows[0] != want {
			t.Errorf("got %+v\nwant %+v", rows, want)
		}
	})
}

// TestNothingImplausibleIsBelieved breaks one link of each chain at a time.
func TestNothingImplausibleIsBelieved(t *testing.T) {
	type parts struct{ object, timer, timerImpl uint64 }
	for name, damage := range map[string]func(m *image, p parts){
		"vtable in the heap": func(m *image, p parts) { m.set(p.object, m.object()) },
		"forged vtable in the heap": func(m *image, p parts) {
			vtable := m.object()
			m.set(vtable+8, m.get(m.get(p.object)-8))
			m.set(p.object, vtable+16)
		},
		"forged type_info in the heap": func(m *image, p parts) {
			typeInfo, original := m.object(), m.get(m.get(p.object)-8)
			m.set(typeInfo, m.get(original))
			m.set(typeInfo+8, m.get(original+8))
			m.set(m.get(p.object)-8, typeInfo)
		},
		"vtable misaligned":        func(m *image, p parts) { m.set(p.object, m.get(p.object)+4) },
		"null vtable":              func(m *image, p parts) { m.set(p.object, 0) },
		"base of a larger object":  func(m *image, p parts) { m.set(m.get(p.object)-16, ^uint64(15)) },
		"type_info in the heap":    func(m *image, p parts) { m.set(m.get(p.object)-8, m.object()) },
		"type_info without vtable": func(m *image, p parts) { m.set(m.get(m.get(p.object)-8), 0x1234) },
		"class name in the heap":   func(m *image, p parts) { m.set(m.get(m.get(p.object)-8)+8, m.text(&m.heap, talkerTimer)) },
		"another class":            func(m *image, p parts) { m.class(p.object, "N4user9WallTimerIiEE") },
		"empty class name":         func(m *image, p parts) { m.class(p.object, "") },
		"endless class name":       func(m *image, p parts) { m.class(p.object, strings.Repeat("N6rclcpp9WallTimerI", 1000)) },
		"null timer":               func(m *image, p parts) { m.set(p.object+m.layout.TimerBase.TimerHandle, 0) },
		"timer beyond memory":      func(m *image, p parts) { m.set(p.object+m.layout.TimerBase.TimerHandle, 0x7000_0000_0000) },
		"timer at the end":         func(m *image, p parts) { m.set(p.object+m.layout.TimerBase.TimerHandle, ^uint64(7)) },
		"timer without impl":       func(m *image, p parts) { m.set(p.timer+m.layout.Timer.Impl, 0) },
		"timer is its own impl":    func(m *image, p parts) { m.set(p.timer+m.layout.Timer.Impl, p.timer) },
		"period negative":          func(m *image, p parts) { m.set(p.timerImpl+m.layout.Timer.Period, ^uint64(0)) },
		"period of two years":      func(m *image, p parts) { m.set(p.timerImpl+m.layout.Timer.Period, 2*maxPeriod) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newImage(t, "jazzy", elf.EM_X86_64)
			timer := m.timer(1e9)
			object, callback := m.timerObject(talkerTimer, timer)
			if _, ok := m.graph().Callback(callback, 1); !ok {
				t.Fatal("not even the intact object is believed")
			}
			damage(m, parts{object, timer, m.get(timer + m.layout.Timer.Impl)})
			g := m.graph()
			if got, ok := g.Callback(callback, 1); ok {
				t.Errorf("believed: %+v", *got)
			}
			if unknown := g.Unknown(); len(unknown) != 1 || unknown[0].Reason == "" || unknown[0].Address != callback {
				t.Errorf("unknown: %+v", unknown)
			}
		})
	}
}

func TestNamesThatAreNoNamesAreNotBelieved(t *testing.T) {
	for _, topic := range []string{"", "/", "relative", "/double//slash", "/trailing/", "/sp ace", "/\xff\xfe", "/" + strings.Repeat("x", 300)} {
		m := newImage(t, "humble", elf.EM_X86_64)
		publisher, rmwPublisher := m.publisher(topic, 1)
		_, rmwSubscription := m.subscription(topic, 1)
		_, _, intra := m.intraProcessObject(topic)
		g := m.graph()
		if got, ok := g.Publisher(trace.Address(publisher), 1); ok {
			t.Errorf("%q: %+v", topic, got)
		}
		if got, ok := g.PublisherByRMW(trace.Address(rmwPublisher), 1); ok {
			t.Errorf("%q: %+v", topic, got)
		}
		if got, ok := g.SubscriptionByRMW(trace.Address(rmwSubscription), 1); ok {
			t.Errorf("%q: %+v", topic, got)
		}
		if got, ok := g.Callback(intra, 1); ok {
			t.Errorf("%q: %+v", topic, got)
		}
	}
}

func TestCallbackWithTwoPossibleOwnersIsNotBelieved(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	subscription, _ := m.subscription("/chatter", 1)
	_, callback := m.subscriptionObject(subscription, m.node("listener", "/"))
	timer := uint64(callback) - uint64(m.callbackOf(layouts.OwnerTimer, 0))
	m.class(timer, talkerTimer)
	m.set(timer+m.layout.TimerBase.TimerHandle, m.timer(1e9))
	if got, ok := m.graph().Callback(callback, 1); ok {
		t.Errorf("believed %+v", *got)
	}
}

func TestQueueDepthMustBePlausible(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	publisher, _ := m.publisher("/chatter", 1<<40)
	if got, ok := m.graph().Publisher(trace.Address(publisher), 1); ok {
		t.Errorf("believed %+v", *got)
	}
}

func TestClassOfOneTranslationUnit(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	_, callback := m.timerObject("*N6rclcpp9WallTimerIZ4mainEUlvE_LPv0EEE", m.timer(1e9))
	if got, ok := m.graph().Callback(callback, 1); !ok || got.Symbol != "main::{lambda()#1}" {
		t.Errorf("got %+v, %v", got, ok)
	}
}

func TestStringMustHaveItsLength(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	object, _, callback := m.intraProcessObject("/intra")
	m.set(object+m.layout.SubscriptionIntraProcess.TopicName+wordSize, 5)
	if got, ok := m.graph().Callback(callback, 1); ok {
		t.Errorf("believed %+v", got)
	}
}

func TestRMWObjectMustNameItsImplementation(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	handle, rmw := m.publisher("/chatter", 1)
	m.set(rmw, m.text(&m.file, "something_else"))
	if got, ok := m.graph().Publisher(trace.Address(handle), 1); ok {
		t.Errorf("believed %+v", got)
	}
}

func TestStringAtTheEndOfMemory(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	handle, rmw := m.publisher("/chatter", 1)
	topic := "/last"
	at := uint64(len(m.heap.data) - len(topic) - 1)
	copy(m.heap.data[at:], topic)
	m.set(rmw+m.layout.RMWTopicName.Publisher, m.heap.start+at)
	if got, ok := m.graph().Publisher(trace.Address(handle), 1); !ok || got.TopicName != topic {
		t.Errorf("got %+v, %v", got, ok)
	}
}

// TestReadingIsRetriedOnlySoOften counts reads: an address that stays unknown costs nothing after a few attempts.
func TestReadingIsRetriedOnlySoOften(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	g := m.graph()
	attempts, before := 0, 0
	for range 10_000 {
		g.Publisher(0x1234_5678, 1)
		if m.reads != before {
			attempts++
			before = m.reads
		}
	}
	if attempts != maxAttempts {
		t.Errorf("%d attempts, want %d", attempts, maxAttempts)
	}
}

func TestLateObjectIsFoundByALaterAttempt(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	handle, rmw := m.publisher("/chatter", 1)
	identifier := m.get(rmw)
	m.set(rmw, 0)
	g := m.graph()
	if _, ok := g.Publisher(trace.Address(handle), 1); ok {
		t.Fatal("known too early")
	}
	m.set(rmw, identifier)
	if _, ok := g.Publisher(trace.Address(handle), 2); !ok {
		t.Error("not tried again")
	}
	if unknown := g.Unknown(); len(unknown) != 0 {
		t.Errorf("still listed as unknown: %v", unknown)
	}
}

func TestWithoutMemoryNothingIsRead(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	handle, _ := m.publisher("/chatter", 1)
	for name, g := range map[string]*Graph{"never set": New(testKey), "no layout": New(testKey), "forgotten": m.graph()} {
		switch name {
		case "no layout":
			g.SetMemory(m, nil)
		case "forgotten":
			g.SetMemory(nil, m.layout)
		}
		m.reads = 0
		if _, ok := g.Publisher(trace.Address(handle), 1); ok || m.reads > 0 {
			t.Errorf("%s: known %v after %d reads", name, ok, m.reads)
		}
		if unknown := g.Unknown(); len(unknown) != 1 {
			t.Errorf("%s: unknown %v", name, unknown)
		}
	}
}
