package entities

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestScanOfRunningROS looks through the memory of programs of each distribution that is installed and compares what it
// finds with what their sources say.
func TestScanOfRunningROS(t *testing.T) {
	for _, distro := range []string{"humble", "jazzy"} {
		for _, rmw := range []string{"rmw_fastrtps_cpp", "rmw_cyclonedds_cpp"} {
			for _, suffix := range []string{"", "-stripped"} {
				t.Run(distro+suffix+"/"+rmw, func(t *testing.T) {
					prefix := "/opt/ros/" + distro + suffix
					nodes := startROS(t, prefix, rmw, "caret_targets/mt_nodes")
					static := startROS(t, prefix, rmw, "caret_targets/static_nodes")
					intra := startROS(t, prefix, rmw, "caret_targets/intra_nodes")
					managed := startROS(t, prefix, rmw, "lifecycle/lifecycle_talker")
					t.Run("lifecycle_talker", func(t *testing.T) { checkLifecycle(t, settled(t, managed, 1, 0)) })
					t.Run("mt_nodes", func(t *testing.T) { checkNodes(t, settled(t, nodes, 4, 1), suffix == "") })
					t.Run("static_nodes", func(t *testing.T) { checkStatic(t, settled(t, static, 1, 0)) })
					t.Run("intra_nodes", func(t *testing.T) { checkIntraNodes(t, settled(t, intra, 3, 0)) })
				})
			}
		}
	}
}

// settled scans a process until it has its nodes and executors have their groups, all but some loners. That some have
// is not enough: the executor of a node's clock has its group before the rest of the node is constructed.
func settled(t *testing.T, process *target.Process, nodes, loners int) trace.Batch {
	t.Helper()
	var rows trace.Batch
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		g := New(testKey)
		g.Apply(scan(t, process))
		rows = g.Rows(true)
		waiting := 0
		for _, group := range rows.CallbackGroups {
			if group.Executor == 0 {
				waiting++
			}
		}
		if len(rows.Nodes) == nodes && len(rows.CallbackGroups) > loners && waiting == loners {
			return rows
		}
	}
	t.Fatalf("%d nodes, callback groups %+v", len(rows.Nodes), rows.CallbackGroups)
	return rows
}

// userRows are short descriptions of what is not infrastructure, in order.
func userRows(rows trace.Batch) []string {
	var lines []string
	isOwn := func(name string) bool {
		return name == "/rosout" || name == "/parameter_events" || strings.Contains(name, "parameter") || strings.Contains(name, "type_description")
	}
	for _, row := range rows.Publishers {
		if !isOwn(row.TopicName) && !strings.Contains(row.TopicName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s publishes %s %s %d", row.NodeName, row.TopicName, row.MessageType, row.QueueDepth.Value))
		}
	}
	for _, row := range rows.Subscriptions {
		if !isOwn(row.TopicName) && !row.IsIntraProcess.Value && !strings.Contains(row.TopicName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s subscribes %s %s %d", row.NodeName, row.TopicName, row.MessageType, row.QueueDepth.Value))
		}
	}
	for _, row := range rows.Timers {
		if row.Callback == 0 {
			continue // of an action
		}
		lines = append(lines, fmt.Sprintf("%s timer %v", row.NodeName, time.Duration(row.Period.Value)))
	}
	for _, row := range rows.ServiceServers {
		if !isOwn(row.ServiceName) && !strings.Contains(row.ServiceName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s serves %s %s", row.NodeName, row.ServiceName, row.ServiceType))
		}
	}
	for _, row := range rows.Clients {
		if !strings.Contains(row.ServiceName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s calls %s %s", row.NodeName, row.ServiceName, row.ServiceType))
		}
	}
	slices.Sort(lines)
	return lines
}

func checkLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func checkNodes(t *testing.T, rows trace.Batch, named bool) {
	checkLines(t, userRows(rows),
		"/sensor publishes /points sensor_msgs/msg/PointCloud2 10",
		"/sensor publishes /text std_msgs/msg/String 5",
		"/sensor publishes /polled std_msgs/msg/String 5",
		"/sensor publishes /serialized std_msgs/msg/String 3",
		"/sensor publishes /loaned std_msgs/msg/Int32 7",
		"/sensor calls /add_two_ints example_interfaces/srv/AddTwoInts",
		"/sensor timer 100ms", "/sensor timer 100ms", "/sensor timer 250ms", "/sensor timer 50ms", "/sensor timer 500ms", "/sensor timer 2s",
		"/sensor timer 200ms",
		"/fusion publishes /pose geometry_msgs/msg/PoseStamped 10",
		"/fusion publishes /poll_result std_msgs/msg/String 10",
		"/fusion subscribes /points sensor_msgs/msg/PointCloud2 10",
		"/fusion subscribes /points sensor_msgs/msg/PointCloud2 10",
		"/fusion subscribes /text std_msgs/msg/String 5",
		"/fusion subscribes /polled std_msgs/msg/String 5",
		"/fusion serves /add_two_ints example_interfaces/srv/AddTwoInts",
		"/fusion timer 150ms", "/fusion timer 30ms",
		"/twin publishes /goal geometry_msgs/msg/PoseStamped 1",
		"/twin subscribes /pose geometry_msgs/msg/PoseStamped 10",
		"/twin subscribes /serialized std_msgs/msg/String 3",
		"/twin subscribes /loaned std_msgs/msg/Int32 7",
		"/twin publishes /generic std_msgs/msg/String 10",
		"/twin subscribes /generic std_msgs/msg/String 10",
		"/twin subscribes /goal geometry_msgs/msg/PoseStamped 1",
		"/twin timer 70ms",
	)
	checkActions(t, rows)
	if len(rows.Executors) != 1 || rows.Executors[0].ExecutorType != multiThreadedExecutor ||
		rows.Executors[0].ThreadCount != trace.Some(uint64(4)) {
		t.Fatalf("executors %+v", rows.Executors)
	}
	loners := 0 // the group of the polled subscription is in no executor
	types := make(map[trace.CallbackGroupType]int)
	for _, group := range rows.CallbackGroups {
		types[group.GroupTypeName]++
		if group.Executor == 0 {
			loners++
		}
	}
	if loners != 1 || types[trace.Reentrant] != 1 || len(rows.CallbackGroups) < 8 {
		t.Errorf("callback groups %+v", rows.CallbackGroups)
	}
	for _, row := range rows.Publishers {
		if len(row.GID) != 2*gidSize {
			t.Errorf("gid of %+v", row)
		}
	}
	for _, row := range rows.Clients {
		if row.GID == "" {
			t.Errorf("gid of %+v", row)
		}
	}
	var symbols []string
	for _, row := range rows.CallbackInfos {
		if row.Symbol == "" {
			t.Errorf("callback without a symbol: %+v", row)
		}
		symbols = append(symbols, row.Symbol)
	}
	wanted := []string{"Sensor::Sensor()::{lambda()#1}", "Twin::Twin(bool)::{lambda(std_msgs::msg::String_<std::allocator<void> > const&)#1}"}
	if named {
		wanted = append(wanted, "Sensor::on_points_timer()", "Fusion::on_action_step()", "free_timer_callback()",
			"free_text_callback(std::shared_ptr<std_msgs::msg::String_<std::allocator<void> > const>)",
			"Twin::on_pose(geometry_msgs::msg::PoseStamped_<std::allocator<void> > const&)")
	}
	for _, symbol := range wanted {
		if !slices.Contains(symbols, symbol) {
			t.Errorf("no callback %s in\n%s", symbol, strings.Join(symbols, "\n"))
		}
	}
	if !named && !slices.ContainsFunc(symbols, func(s string) bool {
		// A stripped executable may still export the function.
		return s == "Sensor::on_points_timer()" || strings.HasPrefix(s, "std::_Bind<void (Sensor::*(Sensor*))()> (mt_nodes+0x")
	}) {
		t.Errorf("no bound member function in\n%s", strings.Join(symbols, "\n"))
	}
}

func checkLifecycle(t *testing.T, rows trace.Batch) {
	if len(rows.LifecycleStateMachines) != 1 || rows.LifecycleStateMachines[0].NodeName != "/lc_talker" {
		t.Errorf("state machines %+v", rows.LifecycleStateMachines)
	}
	if !slices.ContainsFunc(rows.Publishers, func(p trace.Publisher) bool {
		return p.TopicName == "/lc_talker/transition_event" && p.MessageType == transitionEventType && p.NodeName == "/lc_talker"
	}) {
		t.Errorf("publishers %+v", rows.Publishers)
	}
}

// actionRows are short descriptions of what actions consist of, in order.
func actionRows(rows trace.Batch) []string {
	var lines []string
	for _, row := range rows.Publishers {
		if strings.Contains(row.TopicName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s publishes %s %s", row.NodeName, row.TopicName, row.MessageType))
		}
	}
	for _, row := range rows.Subscriptions {
		if strings.Contains(row.TopicName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s subscribes %s %s", row.NodeName, row.TopicName, row.MessageType))
		}
	}
	for _, row := range rows.ServiceServers {
		if strings.Contains(row.ServiceName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s serves %s %s", row.NodeName, row.ServiceName, row.ServiceType))
		}
	}
	for _, row := range rows.Clients {
		if strings.Contains(row.ServiceName, "/_action/") {
			lines = append(lines, fmt.Sprintf("%s calls %s %s", row.NodeName, row.ServiceName, row.ServiceType))
		}
	}
	for _, row := range rows.Timers {
		if row.Callback == 0 {
			lines = append(lines, row.NodeName+" timer of results") // its period is until the next one expires
		}
	}
	slices.Sort(lines)
	return lines
}

func checkActions(t *testing.T, rows trace.Batch) {
	checkLines(t, actionRows(rows),
		"/fusion publishes /fibonacci/_action/feedback example_interfaces/action/Fibonacci_FeedbackMessage",
		"/fusion publishes /fibonacci/_action/status action_msgs/msg/GoalStatusArray",
		"/fusion serves /fibonacci/_action/cancel_goal action_msgs/srv/CancelGoal",
		"/fusion timer of results",
		"/fusion serves /fibonacci/_action/get_result example_interfaces/action/Fibonacci_GetResult",
		"/fusion serves /fibonacci/_action/send_goal example_interfaces/action/Fibonacci_SendGoal",
		"/sensor subscribes /fibonacci/_action/feedback example_interfaces/action/Fibonacci_FeedbackMessage",
		"/sensor subscribes /fibonacci/_action/status action_msgs/msg/GoalStatusArray",
		"/sensor calls /fibonacci/_action/cancel_goal action_msgs/srv/CancelGoal",
		"/sensor calls /fibonacci/_action/get_result example_interfaces/action/Fibonacci_GetResult",
		"/sensor calls /fibonacci/_action/send_goal example_interfaces/action/Fibonacci_SendGoal",
	)
}

func checkStatic(t *testing.T, rows trace.Batch) {
	checkLines(t, userRows(rows),
		"/static_node publishes /static_text std_msgs/msg/String 10",
		"/static_node subscribes /static_text std_msgs/msg/String 10",
		"/static_node timer 100ms",
	)
	if len(rows.Executors) != 1 || rows.Executors[0].ExecutorType != staticSingleThreadedExecutor || rows.Executors[0].EntitiesCollector == 0 {
		t.Errorf("executors %+v", rows.Executors)
	}
	for _, group := range rows.CallbackGroups {
		if len(rows.Executors) == 1 && group.Executor != rows.Executors[0].Executor {
			t.Errorf("callback group %+v", group)
		}
	}
}

func checkIntraNodes(t *testing.T, rows trace.Batch) {
	checkLines(t, userRows(rows),
		"/intra/producer publishes /intra/points sensor_msgs/msg/PointCloud2 10",
		"/intra/producer timer 100ms",
		"/intra/consumer_unique subscribes /intra/points sensor_msgs/msg/PointCloud2 10",
		"/intra/consumer_shared subscribes /intra/points sensor_msgs/msg/PointCloud2 10",
	)
	intra := 0
	for _, row := range rows.Subscriptions {
		if row.IsIntraProcess.Value && row.TopicName == "/intra/points" {
			intra++
			if row.Buffer == 0 || row.IPB == 0 || row.Capacity != trace.Some(uint64(10)) || row.CallbackGroup == 0 || row.NodeName == "" {
				t.Errorf("intra-process subscription %+v", row)
			}
		}
	}
	if intra != 2 {
		t.Errorf("%d intra-process subscriptions", intra)
	}
	if len(rows.Executors) != 1 || rows.Executors[0].ExecutorType != singleThreadedExecutor {
		t.Errorf("executors %+v", rows.Executors)
	}
}
