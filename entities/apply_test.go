package entities

import (
	"debug/elf"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// snapshotOf returns what a scan that began at a time found in a world.
func snapshotOf(t *testing.T, m *image, begin int64) *Snapshot {
	t.Helper()
	snapshot, err := Scan(t.Context(), m, m.layout, begin)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// TestEventsWinOverMemory: what initialization events said stays, memory completes it.
func TestEventsWinOverMemory(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	want := w.rows().Publishers[0]
	g := New(testKey)
	g.Init(event(abi.EventRclPublisherInit, 10, want.PublisherHandle, 0x99000, want.RMWPublisherHandle, "/told", 77))
	if !g.WantsScan() {
		t.Error("no scan is wanted after an event")
	}
	g.Apply(snapshotOf(t, m, 20))
	if g.WantsScan() {
		t.Error("a scan is wanted again")
	}
	got, ok := g.Publisher(want.PublisherHandle, 30)
	if !ok || got.TopicName != "/told" || got.QueueDepth != trace.Some(uint64(77)) || got.NodeHandle != 0x99000 ||
		got.MessageType != "std_msgs/msg/String" || got.InitTimestamp != trace.Some(int64(10)) || got.Provenance != trace.FromTracepoint {
		t.Errorf("got %+v, %v", got, ok)
	}
	if rows := g.Rows(true).Publishers; len(rows) != 1 {
		t.Errorf("rows %+v", rows)
	}
}

// TestSnapshotDoesNotDescribeSuccessors: what was created after the scan began is not what the scan saw.
func TestSnapshotDoesNotDescribeSuccessors(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	want := w.rows().Timers[0]
	snapshot := snapshotOf(t, m, 20)
	g := New(testKey)
	g.Init(event(abi.EventRclTimerInit, 25, want.TimerHandle, 1))
	g.Apply(snapshot)
	if timer, _ := g.timers.at(want.TimerHandle, 30); timer.current.Callback != 0 || timer.current.NodeHandle != 0 {
		t.Errorf("the successor got what its predecessor had: %+v", timer.current)
	}
	if !g.WantsScan() {
		t.Error("no scan is wanted for what was created meanwhile")
	}
}

// TestEndedDuringScan: an entity of which only the end was seen is described by the scan that began before.
func TestEndedDuringScan(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	want := w.rows().Timers[0]
	g := New(testKey)
	g.End(abi.EventRclTimerFini, want.TimerHandle, 25)
	g.Apply(snapshotOf(t, m, 20))
	rows := g.Rows(true)
	if len(rows.Timers) != 1 || rows.Timers[0].EndTimestamp != trace.Some(int64(25)) {
		t.Errorf("timers %+v", rows.Timers)
	}
	if info, ok := g.Callback(want.Callback, 24); !ok || info.EndTimestamp != trace.Some(int64(25)) {
		t.Errorf("its callback: %+v, %v", info, ok)
	}
	if info, ok := g.Callback(want.Callback, 26); ok {
		t.Errorf("after its end: %+v", info)
	}
}

// TestScansRepeat: applying what is known already tells nothing.
func TestScansRepeat(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		newWorld(t, m)
		g := m.graph()
		g.Apply(snapshotOf(t, m, 20))
		g.Rows(true)
		g.Apply(snapshotOf(t, m, 30))
		if again := rowsByKey(g.Rows(true)); len(again) != 0 {
			t.Errorf("told again: %+v", again)
		}
	})
}

// TestScanCompletesWhatRecordsFound: lookups read single entities before the scan is there; it completes the same ones.
func TestScanCompletesWhatRecordsFound(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		want := w.rows()
		g := m.graph()
		for _, row := range want.CallbackInfos {
			if _, ok := g.Callback(row.Callback, 5); !ok {
				t.Errorf("%v", g.Unknown())
			}
		}
		g.PublisherByRMW(want.Publishers[0].RMWPublisherHandle, 5)
		g.SubscriptionByRMW(want.Subscriptions[0].RMWSubscriptionHandle, 5)
		g.Rows(true)
		g.Apply(snapshotOf(t, m, 20))
		g.Rows(true)
		for _, row := range want.CallbackInfos {
			if got, ok := g.Callback(row.Callback, 30); !ok || *got != row {
				t.Errorf("got  %+v\nwant %+v", got, row)
			}
		}
		if got, ok := g.PublisherByRMW(want.Publishers[0].RMWPublisherHandle, 30); !ok || *got != want.Publishers[0] {
			t.Errorf("got  %+v\nwant %+v", got, want.Publishers[0])
		}
		if got, ok := g.SubscriptionByRMW(want.Subscriptions[0].RMWSubscriptionHandle, 30); !ok || got.CallbackGroup == 0 {
			t.Errorf("subscription %+v", got)
		}
	})
}

func TestFiniEndsEntities(t *testing.T) {
	for name, test := range map[string]struct {
		init  []InitEvent
		fini  abi.Event
		ended func(rows trace.Batch) []trace.Optional[int64]
	}{
		"publisher": {
			[]InitEvent{event(abi.EventRclPublisherInit, 10, 0x1000, nodeHandle, 0x1100, "/a", 1)}, abi.EventRclPublisherFini,
			func(rows trace.Batch) []trace.Optional[int64] {
				return []trace.Optional[int64]{rows.Publishers[0].EndTimestamp}
			},
		},
		"subscription with object and callback": {
			[]InitEvent{
				event(abi.EventRclSubscriptionInit, 10, 0x1000, nodeHandle, 0x1100, "/a", 1), event(abi.EventRclcppSubscriptionInit, 11, 0x1000, 0x2000),
				event(abi.EventRclcppSubscriptionCallbackAdded, 12, 0x2000, 0x2100),
			}, abi.EventRclSubscriptionFini,
			func(rows trace.Batch) []trace.Optional[int64] {
				return []trace.Optional[int64]{rows.Subscriptions[0].EndTimestamp, rows.CallbackInfos[0].EndTimestamp}
			},
		},
		"timer with callback": {
			[]InitEvent{event(abi.EventRclTimerInit, 10, 0x1000, 5), event(abi.EventRclcppTimerCallbackAdded, 11, 0x1000, 0x1100)}, abi.EventRclTimerFini,
			func(rows trace.Batch) []trace.Optional[int64] {
				return []trace.Optional[int64]{rows.Timers[0].EndTimestamp, rows.CallbackInfos[0].EndTimestamp}
			},
		},
		"service with callback": {
			[]InitEvent{event(abi.EventRclServiceInit, 10, 0x1000, nodeHandle, 0x1100, "/s"), event(abi.EventRclcppServiceCallbackAdded, 11, 0x1000, 0x1200)},
			abi.EventRclServiceFini, func(rows trace.Batch) []trace.Optional[int64] {
				return []trace.Optional[int64]{rows.ServiceServers[0].EndTimestamp, rows.CallbackInfos[0].EndTimestamp}
			},
		},
		"client": {
			[]InitEvent{event(abi.EventRclClientInit, 10, 0x1000, nodeHandle, 0x1100, "/s")}, abi.EventRclClientFini,
			func(rows trace.Batch) []trace.Optional[int64] {
				return []trace.Optional[int64]{rows.Clients[0].EndTimestamp}
			},
		},
		"node with state machine": {
			[]InitEvent{event(abi.EventRclNodeInit, 10, 0x1000, 0x1100, "n", "/"), event(abi.EventRclLifecycleStateMachineInit, 11, 0x1000, 0x1200)}, abi.EventRclNodeFini,
			func(rows trace.Batch) []trace.Optional[int64] {
				return []trace.Optional[int64]{rows.Nodes[0].EndTimestamp, rows.LifecycleStateMachines[0].EndTimestamp}
			},
		},
		"executor": {
			[]InitEvent{event(abi.EventConstructExecutor, 10, 0x1000, 1)}, abi.EventExecutorDestroy,
			func(rows trace.Batch) []trace.Optional[int64] {
				return []trace.Optional[int64]{rows.Executors[0].EndTimestamp}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			for _, e := range test.init {
				g.Init(e)
			}
			g.Rows(true)
			g.Init(event(test.fini, 50, 0x1000))
			for _, end := range test.ended(g.Rows(false)) {
				if end != trace.Some(int64(50)) {
					t.Errorf("ended at %v", end)
				}
			}
			g.Init(event(test.fini, 60, 0x1000))
			if again := rowsByKey(g.Rows(true)); len(again) != 0 {
				t.Errorf("ended again: %+v", again)
			}
		})
	}
}

// TestReuseEndsEntities: a new entity at an address ends the one before, if no fini event did.
func TestReuseEndsEntities(t *testing.T) {
	g := New(testKey)
	g.Init(event(abi.EventRclTimerInit, 10, timerHandle, 5))
	g.Init(event(abi.EventRclTimerInit, 20, timerHandle, 6))
	rows := g.Rows(true).Timers
	if len(rows) != 2 || rows[0].EndTimestamp != trace.Some(int64(20)) || rows[1].EndTimestamp.Valid {
		t.Errorf("rows %+v", rows)
	}
}

// TestAdaptedPublishers: what a publisher hands over intra-process may be of another type than what it is known to
// publish.
func TestAdaptedPublishers(t *testing.T) {
	g := New(testKey)
	const plain, adapted = 0x1000, 0x2000
	rows := trace.Batch{Publishers: []trace.Publisher{
		{PublisherHandle: plain, MessageType: "std_msgs/msg/Header"}, {PublisherHandle: adapted, MessageType: "std_msgs/msg/Header"},
	}}
	g.Apply(&Snapshot{Entities: rows, Adapted: map[trace.Address]bool{adapted: true}})
	want := []KnownType{{plain, "std_msgs/msg/Header", false}, {adapted, "std_msgs/msg/Header", true}}
	if got := g.KnownTypes(); !slices.Equal(got, want) {
		t.Errorf("known types %+v, want %+v", got, want)
	}
}

// TestScanAfterTheEnd completes what is known, and takes in nothing that may have been created since the end.
func TestScanAfterTheEnd(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	want := w.rows().Timers[0]
	g := New(testKey)
	g.Init(event(abi.EventRclTimerInit, 10, want.TimerHandle, uint64(want.Period.Value)))
	g.Complete(snapshotOf(t, m, 20))
	rows := g.Rows(true)
	if len(rows.Timers) != 1 || rows.Timers[0].TimerHandle != want.TimerHandle || rows.Timers[0].Callback != want.Callback {
		t.Errorf("timers %+v, want %+v completed", rows.Timers, want)
	}
	if len(rows.CallbackInfos) != 1 || rows.CallbackInfos[0].Callback != want.Callback {
		t.Errorf("callbacks %+v", rows.CallbackInfos)
	}
	if others := len(rows.Nodes) + len(rows.Publishers) + len(rows.Subscriptions) + len(rows.ServiceServers) + len(rows.Clients) +
		len(rows.CallbackGroups) + len(rows.Executors); others != 0 {
		t.Errorf("%d entities that were not known: %+v", others, rows)
	}
	if g.WantsScan() {
		t.Error("a scan is wanted again")
	}
}

// TestObjectsWithoutEventsAreAwaited: on Humble no event announces the object of a generic subscription. The row
// without it waits for a scan, but not for ever.
func TestObjectsWithoutEventsAreAwaited(t *testing.T) {
	const calls = 100 // of trace.Batch, each after a second
	m := newImage(t, "humble", elf.EM_X86_64)
	want := newWorld(t, m).rows().Subscriptions[0]
	initialize := func(g *Graph) {
		g.Init(event(abi.EventRclSubscriptionInit, 10, want.SubscriptionHandle, want.NodeHandle, want.RMWSubscriptionHandle, want.TopicName, 1))
	}
	t.Run("scanned", func(t *testing.T) {
		g := m.graph()
		initialize(g)
		for range 5 {
			if rows := g.Rows(false).Subscriptions; len(rows) != 0 {
				t.Fatalf("before the scan: %+v", rows)
			}
		}
		g.Apply(snapshotOf(t, m, 20))
		told := 0
		for range calls {
			for _, row := range g.Rows(false).Subscriptions {
				if row.SubscriptionHandle != want.SubscriptionHandle {
					continue
				}
				told++
				if row.Subscription == 0 {
					t.Errorf("without an object: %+v", row)
				}
			}
		}
		if told == 0 {
			t.Error("never told")
		}
	})
	t.Run("never scanned", func(t *testing.T) {
		g := m.graph()
		initialize(g)
		var told []trace.Subscription
		for range calls {
			told = append(told, g.Rows(false).Subscriptions...)
		}
		if len(told) != 1 || told[0].SubscriptionHandle != want.SubscriptionHandle {
			t.Errorf("told %+v", told)
		}
	})
}
