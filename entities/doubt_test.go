package entities

import (
	"debug/elf"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// known is what lookups say of the entities of a world that records name.
func known(g *Graph, of trace.Batch, time int64) (names []string) {
	for _, row := range of.Publishers {
		if p, ok := g.Publisher(row.PublisherHandle, time); ok {
			names = append(names, p.TopicName)
		}
		if p, ok := g.PublisherByRMW(row.RMWPublisherHandle, time); ok {
			names = append(names, p.TopicName)
		}
	}
	for _, row := range of.Subscriptions {
		if s, ok := g.SubscriptionByRMW(row.RMWSubscriptionHandle, time); ok {
			names = append(names, s.TopicName)
		}
	}
	for _, row := range of.CallbackInfos {
		if c, ok := g.Callback(row.Callback, time); ok {
			names = append(names, string(c.Kind)+" "+c.NodeName)
		}
	}
	for _, row := range of.ServiceServers {
		if s, ok := g.Service(row.ServiceHandle, time); ok {
			names = append(names, s.ServiceName)
		}
	}
	for _, row := range of.Nodes {
		if n, ok := g.Node(row.NodeHandle, time); ok {
			names = append(names, n.NodeName)
		}
	}
	return names
}

// TestNothingIsKnownAfterALoss: where initialization events were lost, nobody is known by his address until a scan has
// found him again.
func TestNothingIsKnownAfterALoss(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	want := newWorld(t, m).rows()
	g := New(testKey)
	g.NumberBy(new(Numbers))
	g.Apply(snapshotOf(t, m, 10))
	before := known(g, want, 20)
	if len(before) < len(want.CallbackInfos)+2*len(want.Publishers) {
		t.Fatalf("known before the loss: %q", before)
	}
	told := counting{rows: make(map[string]map[uint64]any)}
	told.add(t, g.Rows(false))
	g.Doubt(30, 30)
	if names := known(g, want, 29); len(names) != len(before) {
		t.Errorf("of the time before the loss is known: %q, before it was %q", names, before)
	}
	if names := known(g, want, 31); len(names) != 0 {
		t.Errorf("after the loss is known: %q", names)
	}
	if !g.WantsScan() {
		t.Error("no scan is wanted")
	}
	g.Apply(snapshotOf(t, m, 25)) // it began before the loss
	if names := known(g, want, 31); len(names) != 0 {
		t.Errorf("after a scan that began too early is known: %q", names)
	}
	g.Apply(snapshotOf(t, m, 40))
	if names := known(g, want, 31); len(names) != 0 {
		t.Errorf("of the time between the loss and the scan, when others may have lived there, is known: %q", names)
	}
	if names := known(g, want, 41); len(names) != len(before) {
		t.Errorf("after a scan is known: %q, before it was %q", names, before)
	}
	told.add(t, g.Rows(true))
	for table, rows := range told.texts() {
		for _, row := range rows {
			if len(rows) > 4 { // none of the world has so many
				t.Errorf("%s: %s", table, row)
			}
		}
	}
	for _, row := range told.rows["Publishers"] {
		if end := row.(trace.Publisher).EndTimestamp; end.Valid {
			t.Errorf("the publisher that was found again has ended: %+v", row)
		}
	}
}

// TestAnotherOneIsFoundAfterALoss: between the loss and the scan that has found another entity at its address, nobody
// is known.
func TestAnotherOneIsFoundAfterALoss(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	want := newWorld(t, m).rows()
	handle, rmwHandle := want.Publishers[0].PublisherHandle, want.Publishers[0].RMWPublisherHandle
	timer := want.Timers[0]
	g := New(testKey)
	g.Init(event(abi.EventRclPublisherInit, 10, handle, 0x99000, rmwHandle, "/former", 1))
	g.Init(event(abi.EventRclTimerInit, 11, timer.TimerHandle, 77))
	g.Init(event(abi.EventRclcppTimerCallbackAdded, 12, timer.TimerHandle, timer.Callback))
	g.Init(event(abi.EventRclcppCallbackRegister, 12, timer.Callback, "former()"))
	g.Doubt(20, 20)
	g.Apply(snapshotOf(t, m, 30))
	for time, name := range map[int64]string{15: "/former", 25: "", 35: want.Publishers[0].TopicName} {
		for by, lookup := range map[string]func() (*trace.Publisher, bool){
			"rcl": func() (*trace.Publisher, bool) { return g.Publisher(handle, time) },
			"rmw": func() (*trace.Publisher, bool) { return g.PublisherByRMW(rmwHandle, time) },
		} {
			p, ok := lookup()
			if got := ""; ok && p.TopicName != name || ok != (name != got) {
				t.Errorf("at %d, by its %s handle: %+v, %v, want %q", time, by, p, ok, name)
			}
		}
	}
	for time, symbol := range map[int64]string{15: "former()", 35: "main::{lambda()#1}"} {
		if c, ok := g.Callback(timer.Callback, time); !ok || c.Symbol != symbol {
			t.Errorf("callback at %d: %+v, %v, want %q", time, c, ok, symbol)
		}
	}
	if c, ok := g.Callback(timer.Callback, 25); ok {
		t.Errorf("callback between the loss and the scan: %+v", c)
	}
	var ends, begins []trace.Optional[int64]
	for _, row := range g.Rows(true).Publishers {
		if row.PublisherHandle == handle {
			ends, begins = append(ends, row.EndTimestamp), append(begins, row.InitTimestamp)
		}
	}
	if len(ends) != 2 || ends[0] != trace.Some(int64(20)) || ends[1].Valid || begins[1].Valid {
		t.Errorf("ends %v, begins %v", ends, begins)
	}
}

// TestLossEndsWhatIsNotFoundAgain: what no scan finds has ended when it was last known to live, whatever events came
// later.
func TestLossEndsWhatIsNotFoundAgain(t *testing.T) {
	for name, later := range map[string][]InitEvent{
		"nothing":               nil,
		"its end, or another's": {event(abi.EventRclPublisherFini, 30, publisherHandle)},
		"another one":           {event(abi.EventRclPublisherInit, 30, publisherHandle, nodeHandle, rmwPublisher, "/other", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			g.Init(event(abi.EventRclPublisherInit, 10, publisherHandle, nodeHandle, rmwPublisher, "/chatter", 1))
			g.Doubt(20, 20)
			for _, e := range later {
				g.Init(e)
			}
			rows := g.Rows(true).Publishers
			if rows[0].TopicName != "/chatter" || rows[0].EndTimestamp != trace.Some(int64(20)) {
				t.Errorf("rows %+v", rows)
			}
			if _, ok := g.Publisher(publisherHandle, 25); ok {
				t.Error("it is known after the loss")
			}
		})
	}
}

// TestMemoryTellsNothingOfTheTimeBeforeALoss: an address that is read after initialization events were lost may have
// changed hands since a record named it.
func TestMemoryTellsNothingOfTheTimeBeforeALoss(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	want := newWorld(t, m).rows()
	g := m.graph()
	g.Doubt(20, 30)
	if names := known(g, want, 30); len(names) != 0 {
		t.Errorf("of a record from before the loss is known: %q", names)
	}
	read := known(g, want, 31)
	if len(read) == 0 {
		t.Error("memory tells nothing of what is recorded after the loss")
	}
	if names := known(g, want, 32); !slices.Equal(names, read) {
		t.Errorf("later is known: %q, of what was read: %q", names, read)
	}
	if names := known(g, want, 30); len(names) != 0 {
		t.Errorf("by what was read is known of a record from before the loss: %q", names)
	}
}

// TestMemoryTellsNothingWhileEventsWait: a record is merged a moment after it was made. An event that waits behind it
// says that memory shows who came afterwards.
func TestMemoryTellsNothingWhileEventsWait(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	want := newWorld(t, m).rows()
	for name, test := range map[string]struct {
		before int // so many reads see nothing waiting
	}{"before memory is read": {0}, "after some of it was read": {2}} {
		t.Run(name, func(t *testing.T) {
			g, waits, reads := m.graph(), true, 0
			g.WatchUnread(func(address trace.Address) bool {
				reads++
				return waits && reads > test.before && address == want.Publishers[0].RMWPublisherHandle
			})
			if p, ok := g.PublisherByRMW(want.Publishers[0].RMWPublisherHandle, 10); ok {
				t.Errorf("known while an event waits: %+v", p)
			}
			if s, ok := g.SubscriptionByRMW(want.Subscriptions[0].RMWSubscriptionHandle, 10); !ok || s.TopicName != want.Subscriptions[0].TopicName {
				t.Errorf("of an address that no waiting event names is known: %+v, %t", s, ok)
			}
			waits = false
			if p, ok := g.PublisherByRMW(want.Publishers[0].RMWPublisherHandle, 11); !ok || p.TopicName != want.Publishers[0].TopicName {
				t.Errorf("when none waits any more is known: %+v, %t", p, ok)
			}
		})
	}
}

// TestRosoutIsNamedByItsNode: on Humble the publisher of /rosout is announced before its node, which memory does not
// tell while the node's own event waits.
func TestRosoutIsNamedByItsNode(t *testing.T) {
	m := newImage(t, "humble", elf.EM_X86_64)
	node := newWorld(t, m).rows().Nodes[0]
	g := m.graph()
	g.WatchUnread(func(address trace.Address) bool { return address == node.NodeHandle })
	g.Init(event(abi.EventRclPublisherInit, 10, publisherHandle, node.NodeHandle, rmwPublisher, "/rosout", 1000))
	g.WatchUnread(nil)
	g.Init(event(abi.EventRclNodeInit, 11, node.NodeHandle, node.RMWHandle, node.NodeName, node.Namespace))
	g.Init(event(abi.EventRclPublisherInit, 12, publisherHandle+0x1000, node.NodeHandle, rmwPublisher+0x1000, "/chatter", 1))
	for _, row := range g.Rows(true).Publishers {
		if row.NodeName == "" {
			t.Errorf("without its node: %+v", row)
		}
	}
	g.Init(event(abi.EventRclPublisherFini, 20, publisherHandle))
	g.Init(event(abi.EventRclNodeFini, 21, node.NodeHandle))
}

// TestLossDuringAScan: what a scan saw before events were lost may be gone, although it was doubtful before, or new.
func TestLossDuringAScan(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	want := newWorld(t, m).rows()
	for name, before := range map[string]func(*Graph){
		"what was never seen":  func(*Graph) {},
		"what was seen before": func(g *Graph) { g.Apply(snapshotOf(t, m, 10)) },
		"what was doubtful": func(g *Graph) {
			g.Apply(snapshotOf(t, m, 10))
			g.Doubt(15, 18)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			before(g)
			snapshot := snapshotOf(t, m, 20)
			snapshot.End = 30
			g.Doubt(22, 40)
			g.Apply(snapshot)
			for _, time := range []int64{25, 35, 45} {
				if names := known(g, want, time); len(names) != 0 {
					t.Errorf("at %d is known: %q", time, names)
				}
			}
			if !g.WantsScan() {
				t.Error("no scan is wanted")
			}
			g.Apply(snapshotOf(t, m, 50))
			if names := known(g, want, 51); len(names) == 0 {
				t.Error("nothing is known after another scan")
			}
		})
	}
}
