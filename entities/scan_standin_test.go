package entities

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestScanOfStandIn looks through the memory of the bundled stand-in and compares what it finds with its ground truth:
// everything is there, with its node and its callback group, and nothing else.
func TestScanOfStandIn(t *testing.T) {
	for _, build := range []string{"humble", "humble-stripped", "jazzy", "jazzy-stripped"} {
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			t.Run(build+"/"+rmw, func(t *testing.T) {
				truth, process := startStandIn(t, build, rmw)
				snapshot := scan(t, process)
				g := New(testKey)
				g.Apply(snapshot)
				rows := g.Rows(true)
				compareRows(t, essentials(t, rows), wantedOfStandIn(truth))
				for _, row := range rows.Publishers {
					if len(row.GID) != 2*gidSize {
						t.Errorf("gid of %+v", row)
					}
				}
				checkGroupsOfStandIn(t, rows, truth)
				if len(rows.Contexts) != 1 {
					t.Errorf("contexts %+v", rows.Contexts)
				}
			})
		}
	}
}

// largeProcess is the resident memory of the process that BenchmarkScanOfLargeProcess scans, in megabytes.
const largeProcess = 4096

// BenchmarkScanOfLargeProcess scans a process that has far more memory than entities, while it runs, and still finds
// all of them.
func BenchmarkScanOfLargeProcess(b *testing.B) {
	truth, process := startStandIn(b, "jazzy", "rmw_fastrtps_cpp", "--ballast", strconv.Itoa(largeProcess))
	want := wantedOfStandIn(truth)
	b.SetBytes(largeProcess << 20)
	for b.Loop() {
		snapshot := scan(b, process)
		if len(snapshot.Skipped) > 0 {
			b.Fatalf("left out %v", snapshot.Skipped)
		}
		b.StopTimer()
		g := New(testKey)
		g.Apply(snapshot)
		compareRows(b, essentials(b, g.Rows(true)), want)
		b.StartTimer()
	}
}

// BenchmarkScanOfSmallProcess scans one of a few nodes, as most processes of a vehicle are.
func BenchmarkScanOfSmallProcess(b *testing.B) {
	_, process := startStandIn(b, "humble", "rmw_fastrtps_cpp")
	for b.Loop() {
		scan(b, process)
	}
}

// TestScanAmongOtherMemory: entities are found, and nothing else, in a process most of whose memory is full of other
// things.
func TestScanAmongOtherMemory(t *testing.T) {
	truth, process := startStandIn(t, "humble-stripped", "rmw_cyclonedds_cpp", "--ballast", "200")
	g := New(testKey)
	g.Apply(scan(t, process))
	compareRows(t, essentials(t, g.Rows(true)), wantedOfStandIn(truth))
}

// checkGroupsOfStandIn: every callback group that the ground truth lists is there, with its type and its node, and the
// executor has it.
func checkGroupsOfStandIn(t testing.TB, rows trace.Batch, truth []truthLine) {
	t.Helper()
	groups := make(map[trace.Address]trace.CallbackGroup)
	for _, group := range rows.CallbackGroups {
		groups[group.CallbackGroup] = group
	}
	for _, line := range truth {
		if line.name != "callback_group" {
			continue
		}
		got := groups[line.address("group")]
		if string(got.GroupTypeName) != line.fields["type"] || got.NodeHandle != line.address("node") || got.NodeName == "" {
			t.Errorf("%v: %+v", line, got)
		}
		if len(rows.Executors) != 1 || rows.Executors[0].ExecutorType == "" || got.Executor != rows.Executors[0].Executor {
			t.Errorf("%v: executor of %+v of %+v", line, got, rows.Executors)
		}
	}
}

func scan(t testing.TB, process *target.Process) *Snapshot {
	t.Helper()
	memory, err := OpenMemory(t.Context(), process)
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	memory.KeepFiles()
	layout, err := LayoutOf(t.Context(), process)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := Scan(context.Background(), memory, layout, 1)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// essentials checks what every row of the stand-in has and returns the columns that its ground truth tells.
func essentials(t testing.TB, rows trace.Batch) map[any]any {
	t.Helper()
	groups := make(map[trace.Address]trace.Address) // node by group
	for _, group := range rows.CallbackGroups {
		groups[group.CallbackGroup] = group.NodeHandle
	}
	for i, row := range rows.Subscriptions {
		if groups[row.CallbackGroup] != row.NodeHandle || row.MessageType == "" || row.IsIntraProcess.Value != row.Capacity.Valid ||
			row.IsIntraProcess.Value == (row.IPB == 0) {
			t.Errorf("subscription %+v", row)
		}
		row.CallbackGroup, row.MessageType, row.IPB, row.Capacity = 0, "", 0, trace.Optional[uint64]{}
		rows.Subscriptions[i] = row
	}
	for i, row := range rows.Timers {
		if groups[row.CallbackGroup] != row.NodeHandle {
			t.Errorf("timer %+v", row)
		}
		rows.Timers[i].CallbackGroup = 0
	}
	for i, row := range rows.ServiceServers {
		if groups[row.CallbackGroup] != row.NodeHandle || row.ServiceType != "example_interfaces/srv/AddTwoInts" || row.RMWServiceHandle == 0 {
			t.Errorf("service %+v", row)
		}
		rows.ServiceServers[i].CallbackGroup, rows.ServiceServers[i].RMWServiceHandle, rows.ServiceServers[i].ServiceType = 0, 0, ""
	}
	for i, row := range rows.Clients {
		if groups[row.CallbackGroup] != row.NodeHandle || row.ServiceType != "example_interfaces/srv/AddTwoInts" || row.RMWClientHandle == 0 {
			t.Errorf("client %+v", row)
		}
		rows.Clients[i].CallbackGroup, rows.Clients[i].RMWClientHandle, rows.Clients[i].ServiceType, rows.Clients[i].GID = 0, 0, "", ""
	}
	for i, row := range rows.Publishers {
		if row.MessageType == "" {
			t.Errorf("publisher %+v", row)
		}
		rows.Publishers[i].MessageType = ""
	}
	plain := rows
	plain.CallbackInfos, plain.CallbackGroups, plain.Executors, plain.Contexts = nil, nil, nil, nil
	plain.Publishers = slices.Clone(rows.Publishers)
	for i := range plain.Publishers {
		plain.Publishers[i].GID = ""
	}
	return rowsByKey(plain)
}

// wantedOfStandIn returns the rows that the ground truth of the stand-in tells, as far as it does.
func wantedOfStandIn(truth []truthLine) map[any]any {
	nodes := make(map[trace.Address]string)
	var rows trace.Batch
	for _, line := range truth {
		if line.name == "node" {
			nodes[line.address("node")] = fullName(line.fields["namespace"], line.fields["name"])
		}
	}
	for _, line := range truth {
		nodeHandle := trace.Address(0)
		if line.fields["node"] != "" {
			nodeHandle = line.address("node")
		}
		switch line.name {
		case "node":
			rows.Nodes = append(rows.Nodes, trace.Node{
				ProcessKey: testKey, NodeHandle: nodeHandle, RMWHandle: line.address("rmw_node"), NodeName: line.fields["name"],
				Namespace: line.fields["namespace"], Provenance: trace.FromMemory,
			})
		case "publisher":
			rows.Publishers = append(rows.Publishers, trace.Publisher{
				ProcessKey: testKey, PublisherHandle: line.address("publisher"), NodeHandle: nodeHandle, NodeName: nodes[nodeHandle],
				RMWPublisherHandle: line.address("rmw_publisher"), TopicName: line.fields["topic"],
				QueueDepth: trace.Some(line.number("depth")), Provenance: trace.FromMemory,
			})
		case "timer":
			rows.Timers = append(rows.Timers, trace.Timer{
				ProcessKey: testKey, TimerHandle: line.address("timer"), NodeHandle: nodeHandle, NodeName: nodes[nodeHandle],
				Period: trace.Some(int64(line.number("period"))), Callback: line.address("callback"), Provenance: trace.FromMemory,
			})
		case "service":
			rows.ServiceServers = append(rows.ServiceServers, trace.ServiceServer{
				ProcessKey: testKey, ServiceHandle: line.address("service"), NodeHandle: nodeHandle, NodeName: nodes[nodeHandle],
				ServiceName: line.fields["name"], Callback: line.address("callback"), Provenance: trace.FromMemory,
			})
		case "client":
			rows.Clients = append(rows.Clients, trace.Client{
				ProcessKey: testKey, ClientHandle: line.address("client"), NodeHandle: nodeHandle, NodeName: nodes[nodeHandle],
				ServiceName: line.fields["name"], Provenance: trace.FromMemory,
			})
		case "subscription":
			inter := trace.Subscription{
				ProcessKey: testKey, SubscriptionHandle: line.address("subscription"), NodeHandle: nodeHandle, NodeName: nodes[nodeHandle],
				RMWSubscriptionHandle: line.address("rmw_subscription"), TopicName: line.fields["topic"],
				QueueDepth: trace.Some(line.number("depth")), Provenance: trace.FromMemory,
			}
			intra := inter
			inter.Subscription, inter.Callback, inter.IsIntraProcess = line.address("object"), line.address("callback"), trace.Some(false)
			intra.Subscription, intra.Callback, intra.IsIntraProcess = line.address("intra_object"), line.address("intra_callback"), trace.Some(true)
			intra.Buffer = line.address("buffer")
			rows.Subscriptions = append(rows.Subscriptions, inter, intra)
		}
	}
	return rowsByKey(rows)
}
