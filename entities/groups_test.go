package entities

import (
	"debug/elf"
	"math"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	executorAddress, collectorAddress, groupAddress = 0xe000, 0xe100, 0xf000
	clientHandle, rmwClient                         = 0x8000, 0x8100
)

func TestExecutorEvents(t *testing.T) {
	for name, test := range map[string]struct {
		events []InitEvent
		want   trace.Executor
	}{
		"derived class, then its base": {
			[]InitEvent{event(abi.EventConstructExecutor, 10, executorAddress, 2), event(abi.EventConstructExecutor, 11, executorAddress, 0)},
			trace.Executor{ExecutorType: multiThreadedExecutor, InitTimestamp: trace.Some(int64(10))},
		},
		"base, then its derived class": {
			[]InitEvent{event(abi.EventConstructExecutor, 10, executorAddress, 0), event(abi.EventConstructExecutor, 11, executorAddress, 1)},
			trace.Executor{ExecutorType: singleThreadedExecutor, InitTimestamp: trace.Some(int64(10))},
		},
		"a class of the user's": {
			[]InitEvent{event(abi.EventConstructExecutor, 10, executorAddress, 0)}, trace.Executor{InitTimestamp: trace.Some(int64(10))},
		},
		"with its collector": {
			[]InitEvent{
				event(abi.EventConstructExecutor, 10, executorAddress, 4), event(abi.EventExecutorEntityCollectorToExecutor, 11, executorAddress, collectorAddress),
			},
			trace.Executor{ExecutorType: eventsExecutor, EntitiesCollector: collectorAddress, InitTimestamp: trace.Some(int64(10))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			for _, e := range test.events {
				g.Init(e)
			}
			test.want.ProcessKey, test.want.Executor, test.want.Provenance = testKey, executorAddress, trace.FromTracepoint
			if rows := g.Rows(true).Executors; len(rows) != 1 || rows[0] != test.want {
				t.Errorf("got  %+v\nwant %+v", rows, test.want)
			}
		})
	}
}

// TestGroupEvents: entities, their callbacks and their node come to their callback group, and the group to its
// executor.
func TestGroupEvents(t *testing.T) {
	joins := map[string][]InitEvent{
		"executor": {event(abi.EventConstructExecutor, 60, executorAddress, 1), event(abi.EventAddCallbackGroup, 61, executorAddress, groupAddress, 1, 0)},
		"collector, known before": {
			event(abi.EventConstructExecutor, 60, executorAddress, 3), event(abi.EventExecutorEntityCollectorToExecutor, 61, executorAddress, collectorAddress),
			event(abi.EventAddCallbackGroupStaticExecutor, 62, collectorAddress, groupAddress, 1),
		},
		"collector, known later": {
			event(abi.EventConstructExecutor, 60, executorAddress, 4), event(abi.EventCallbackGroupToExecutorEntityCollector, 61, collectorAddress, groupAddress, 1),
			event(abi.EventExecutorEntityCollectorToExecutor, 62, executorAddress, collectorAddress),
		},
	}
	for name, events := range joins {
		t.Run(name, func(t *testing.T) {
			layout, err := layouts.For("humble", elf.EM_X86_64, nil)
			if err != nil {
				t.Fatal(err)
			}
			g := New(testKey)
			g.SetMemory(nil, layout)
			starting, _, _ := startingProcess(layout)
			starting = append(starting, event(abi.EventRclClientInit, 55, clientHandle, nodeHandle, rmwClient, "/other"),
				event(abi.EventCallbackGroupAddTimer, 56, groupAddress, timerHandle), event(abi.EventCallbackGroupAddSubscription, 56, groupAddress, subscriptionHandle),
				event(abi.EventCallbackGroupAddService, 56, groupAddress, serviceHandle), event(abi.EventCallbackGroupAddClient, 56, groupAddress, clientHandle))
			for _, e := range append(starting, events...) {
				g.Init(e)
			}
			rows := g.Rows(true)
			if len(rows.CallbackGroups) != 1 {
				t.Fatalf("callback groups %+v", rows.CallbackGroups)
			}
			group := rows.CallbackGroups[0]
			if group.GroupTypeName != trace.Reentrant || group.NodeName != "/demo/talker" || group.Executor != executorAddress ||
				group.Provenance != trace.FromTracepoint || !group.InitTimestamp.Valid {
				t.Errorf("callback group %+v", group)
			}
			for _, row := range rows.Subscriptions {
				if row.CallbackGroup != groupAddress {
					t.Errorf("subscription %+v", row)
				}
			}
			for _, row := range rows.CallbackInfos {
				if row.CallbackGroup != groupAddress {
					t.Errorf("callback %+v", row)
				}
			}
			if rows.Timers[0].CallbackGroup != groupAddress || rows.ServiceServers[0].CallbackGroup != groupAddress ||
				rows.Clients[0].CallbackGroup != groupAddress || rows.Clients[0].NodeName != "/demo/talker" {
				t.Errorf("timers %+v, services %+v, clients %+v", rows.Timers, rows.ServiceServers, rows.Clients)
			}
		})
	}
}

// TestGroupOfARunningNode: the rclcpp node of add_callback_group leads to the node.
func TestGroupOfARunningNode(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		w := newWorld(t, m)
		g := m.graph()
		g.Init(event(abi.EventAddCallbackGroup, 10, w.executor, groupAddress, 0, w.nodeBase))
		rows := g.Rows(true)
		if len(rows.CallbackGroups) != 1 || rows.CallbackGroups[0].NodeName != "/demo/talker" ||
			rows.CallbackGroups[0].GroupTypeName != trace.MutuallyExclusive {
			t.Errorf("callback groups %+v", rows.CallbackGroups)
		}
		if len(rows.Executors) != 1 || rows.Executors[0].ExecutorType != multiThreadedExecutor || rows.Executors[0].ThreadCount != trace.Some(uint64(3)) {
			t.Errorf("executors %+v", rows.Executors)
		}
	})
}

// TestIntraProcessEvents: on Iron and later the buffers are announced before the object that they belong to.
func TestIntraProcessEvents(t *testing.T) {
	const ring, ipb = 0xb000, 0xb100
	layout, err := layouts.For("jazzy", elf.EM_X86_64, nil)
	if err != nil {
		t.Fatal(err)
	}
	starting, _, _ := startingProcess(layout)
	g := New(testKey)
	g.SetMemory(nil, layout)
	for _, e := range []InitEvent{
		event(abi.EventRclcppConstructRingBuffer, 30, ring, 10), event(abi.EventRclcppBufferToIPB, 30, ring, ipb), event(abi.EventRclcppIPBToSubscription, 30, ipb, intraObject),
	} {
		g.Init(e)
	}
	for _, e := range starting {
		g.Init(e)
	}
	for _, row := range g.Rows(true).Subscriptions {
		if intra := row.Subscription == intraObject; row.IsIntraProcess.Value != intra || (row.Buffer == ring) != intra ||
			(row.IPB == ipb) != intra || (row.Capacity == trace.Some(uint64(10))) != intra {
			t.Errorf("subscription %+v", row)
		}
	}
}

func TestGIDIsThatOfThePublisher(t *testing.T) {
	const gid = "010f78fd7272fec20000000000000303"
	for name, test := range map[string]struct{ told, want string }{
		"of 16 bytes": {gid, gid}, "of 24 bytes": {gid + "0000000000000000", gid}, "in capitals": {"010F78FD7272FEC20000000000000303", gid},
		"cut off": {"010f", ""}, "no hexadecimal": {"zz0f78fd7272fec20000000000000303", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			g.Init(InitEvent{Event: abi.EventRMWPublisherInit, Time: 10, Arguments: [6]uint64{rmwPublisher}, String1: test.told})
			g.Init(event(abi.EventRclPublisherInit, 11, publisherHandle, nodeHandle, rmwPublisher, "/chatter", 1))
			g.Init(event(abi.EventRclPublisherInit, 12, publisherHandle+8, nodeHandle, rmwPublisher+8, "/other", 1))
			rows := g.Rows(true).Publishers
			if rows[0].GID != test.want || rows[1].GID != "" {
				t.Errorf("rows %+v", rows)
			}
		})
	}
}

// TestGroupsAtOneAddress: no event tells the end of a callback group. One of another type, or of another node, at its
// address is another one; its entities get nothing of the former.
func TestGroupsAtOneAddress(t *testing.T) {
	const otherNode, otherTimer, otherSubscription = 0x1800, 0x6800, 0x3800
	starting := []InitEvent{
		event(abi.EventRclNodeInit, 10, nodeHandle, rmwNode, "talker", "/demo"),
		event(abi.EventRclNodeInit, 11, otherNode, rmwNode+8, "listener", "/demo"),
		event(abi.EventRclSubscriptionInit, 20, subscriptionHandle, nodeHandle, rmwSubscription, "/commands", 5),
		event(abi.EventCallbackGroupAddSubscription, 21, groupAddress, subscriptionHandle, int(GroupReentrant)+1),
	}
	for name, events := range map[string][]InitEvent{
		"another type": {event(abi.EventAddCallbackGroup, 31, executorAddress, groupAddress, int(GroupMutuallyExclusive), 0)},
		"another node, by its subscription": {
			event(abi.EventRclSubscriptionInit, 30, otherSubscription, otherNode, rmwSubscription+8, "/commands", 5),
			event(abi.EventCallbackGroupAddSubscription, 31, groupAddress, otherSubscription, int(GroupReentrant)+1),
		},
		"another node, by its timer": {
			event(abi.EventRclTimerInit, 30, otherTimer, 100),
			event(abi.EventCallbackGroupAddTimer, 30, groupAddress, otherTimer, int(GroupReentrant)+1),
			event(abi.EventRclcppTimerLinkNode, 31, otherTimer, otherNode),
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			for _, e := range append(slices.Clone(starting), events...) {
				g.Init(e)
			}
			rows := g.Rows(true)
			if len(rows.CallbackGroups) != 2 {
				t.Fatalf("callback groups %+v", rows.CallbackGroups)
			}
			former, later := rows.CallbackGroups[0], rows.CallbackGroups[1]
			if former.NodeName != "/demo/talker" || former.GroupTypeName != trace.Reentrant || former.EndTimestamp != trace.Some(int64(31)) {
				t.Errorf("the former %+v", former)
			}
			if later.NodeName == "/demo/talker" || later.EndTimestamp.Valid {
				t.Errorf("the later %+v", later)
			}
			for _, row := range rows.Timers {
				if row.NodeName != "/demo/listener" {
					t.Errorf("timer %+v", row)
				}
			}
		})
	}
}

// TestTimerHasNothingOfItsGroup: until its own event tells the node of a timer, the node is unknown, whatever its
// callback group's is.
func TestTimerHasNothingOfItsGroup(t *testing.T) {
	g := New(testKey)
	for _, e := range []InitEvent{
		event(abi.EventRclNodeInit, 10, nodeHandle, rmwNode, "talker", "/demo"),
		event(abi.EventRclSubscriptionInit, 20, subscriptionHandle, nodeHandle, rmwSubscription, "/commands", 5),
		event(abi.EventCallbackGroupAddSubscription, 21, groupAddress, subscriptionHandle, int(GroupReentrant)+1),
		event(abi.EventRclTimerInit, 30, timerHandle, 100),
		event(abi.EventCallbackGroupAddTimer, 31, groupAddress, timerHandle, int(GroupReentrant)+1),
	} {
		g.Init(e)
	}
	if rows := g.Rows(true).Timers; len(rows) != 1 || rows[0].NodeName != "" || rows[0].NodeHandle != 0 {
		t.Errorf("timers %+v", rows)
	}
}

// TestWhatCouldNotBeReadIsNoEntity: an event whose handle is null because its memory was not there, and a type of group
// that was not read.
func TestWhatCouldNotBeReadIsNoEntity(t *testing.T) {
	g := New(testKey)
	for _, e := range []InitEvent{
		event(abi.EventCallbackGroupAddTimer, 10, groupAddress, 0, 0), event(abi.EventCallbackGroupAddService, 11, groupAddress, 0, 0),
		event(abi.EventAddCallbackGroup, 12, executorAddress, groupAddress, math.MaxUint32, 0),
	} {
		g.Init(e)
	}
	rows := g.Rows(true)
	if len(rows.Timers)+len(rows.ServiceServers) != 0 {
		t.Errorf("timers %+v, services %+v", rows.Timers, rows.ServiceServers)
	}
	if len(rows.CallbackGroups) != 1 || rows.CallbackGroups[0].GroupTypeName != "" {
		t.Errorf("callback groups %+v", rows.CallbackGroups)
	}
}
