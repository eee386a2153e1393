package ctf_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/export/ctf"
	"github.com/caret-bpf/caret-bpf/export/ctf/ctftest"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// begin is when the recordings of these tests begin.
const begin = int64(1_790_000_000_000_000_000)

var robot = trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}

func at(since int64) trace.Optional[int64] { return trace.Some(begin + since) }

// dataset writes rows as a recording.
func dataset(t testing.TB, rows *trace.Batch) *trace.Dataset {
	t.Helper()
	dir := t.TempDir()
	tracetest.AddSegments(t, dir, 0, rows)
	session := trace.NewSession()
	session.Host.Name = "truck\"7"
	session.Clock = trace.Clock{MonotonicTimestamp: 5_000, RealtimeTimestamp: begin, RealtimeOffset: begin - 5_000}
	tracetest.AddSession(t, dir, session)
	return tracetest.Open(t, dir)
}

// export writes the trace of rows and reads it.
func export(t testing.TB, rows *trace.Batch, options ctf.Options) (*ctftest.Trace, ctf.Summary, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	summary, err := ctf.Write(t.Context(), dir, dataset(t, rows), options)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ctftest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if summary.Events != uint64(len(read.Events)) || summary.Lost != read.Discarded {
		t.Errorf("the trace has %d events and tells of %d losses, the summary %+v", len(read.Events), read.Discarded, summary)
	}
	return read, summary, dir
}

// lines are the events of a trace: "time since the begin: event".
func lines(of *ctftest.Trace) (lines []string) {
	for i := range of.Events {
		lines = append(lines, fmt.Sprintf("%d: %v", of.Events[i].At-begin, &of.Events[i]))
	}
	return lines
}

func requireLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func process() []trace.Process {
	return []trace.Process{{ProcessKey: robot, Command: "a_name_of_more_than_16", Distro: "humble", RecordingStartTimestamp: at(10)}}
}

// What ran becomes the hits that it was made of, in the order of time, each on its CPU.
func TestHits(t *testing.T) {
	read, _, _ := export(t, &trace.Batch{
		Processes: process(),
		Callbacks: []trace.Callback{
			{
				ProcessKey: robot, TID: 78, CPU: 2, EndCPU: trace.Some[int32](3), Callback: 0x13, Status: trace.CallbackComplete,
				CallbackStartTimestamp: at(100), CallbackEndTimestamp: at(200), IsIntraProcess: trace.Some(false),
				Message: 0x50, SourceTimestamp: at(60), RMWSubscriptionHandle: 0x51, RMWTakeTimestamp: at(90), SubscriptionHandle: 0x52,
			},
			{
				ProcessKey: robot, TID: 79, CPU: 1, Callback: 0x14, Status: trace.CallbackUnwound,
				CallbackStartTimestamp: at(80), IsIntraProcess: trace.Some(true),
				Buffer: 0x60, DequeueIndex: trace.Some[uint64](1), DequeueSize: trace.Some[uint64](0), DequeueTimestamp: at(70),
			},
			{ProcessKey: robot, TID: 80, CPU: 1, EndCPU: trace.Some[int32](1), Callback: 0x15, Status: trace.CallbackStartMissing, CallbackEndTimestamp: at(20)},
		},
		Publishes: []trace.Publish{{
			ProcessKey: robot, TID: 78, CPU: 2, PublisherHandle: 0x11, RMWPublisherHandle: 0x12, Message: 0x50, IntraMessage: 0x52,
			RclcppIntraPublishTimestamp: at(110), RclcppPublishTimestamp: at(120), RclPublishTimestamp: at(130), RMWPublishTimestamp: at(140),
			SourceTimestamp: at(135), DDSBindAddrToStampTimestamp: at(150), Status: trace.PublishComplete,
		}},
		Enqueues: []trace.Enqueue{{ProcessKey: robot, TID: 78, CPU: 2, Buffer: 0x60, Index: trace.Some[uint64](1), Size: 1, Overwritten: trace.Some(true), EnqueueTimestamp: begin + 115}},
		Takes:    []trace.Take{{ProcessKey: robot, TID: 81, CPU: 0, Kind: trace.TakeRMW, RMWSubscriptionHandle: 0x53, Message: 0x54, SourceTimestamp: at(30), RMWTakeTimestamp: at(40)}},
		SimTimes: []trace.SimTime{{ProcessKey: robot, TID: 81, UpdateTimestamp: begin + 210, SimTime: 12}},
		Lifecycles: []trace.Lifecycle{{
			ProcessKey: robot, TID: 81, StateMachine: 0x70, TransitionTimestamp: begin + 220, StartLabel: "inactive", GoalLabel: "active",
		}},
	}, ctf.Options{})
	requireLines(t, lines(read),
		"10: ros2_caret:caret_init clock_offset=5010 distribution=iron",
		"20: ros2:callback_end callback=21",
		fmt.Sprintf("40: ros2:rmw_take rmw_subscription_handle=83 message=84 source_timestamp=%d taken=1", begin+30),
		"70: ros2:rclcpp_executor_execute handle=0 synthesised=1",
		"70: ros2:rclcpp_ring_buffer_dequeue buffer=96 index=1 size=0",
		"80: ros2:callback_start callback=20 is_intra_process=1",
		"90: ros2:rclcpp_executor_execute handle=82 synthesised=1",
		fmt.Sprintf("90: ros2:rmw_take rmw_subscription_handle=81 message=80 source_timestamp=%d taken=1", begin+60),
		"90: ros2:rclcpp_take message=80 synthesised=1",
		"100: ros2:callback_start callback=19 is_intra_process=0",
		"110: ros2:rclcpp_intra_publish publisher_handle=17 message=82",
		"115: ros2:rclcpp_ring_buffer_enqueue buffer=96 index=1 size=1 overwritten=1",
		"120: ros2:rclcpp_publish publisher_handle=17 message=80",
		"130: ros2:rcl_publish publisher_handle=17 message=80",
		"140: ros2_caret:dds_write message=80",
		fmt.Sprintf("140: ros2:rmw_publish rmw_publisher_handle=18 message=80 timestamp=%d", begin+135),
		fmt.Sprintf("150: ros2_caret:dds_bind_addr_to_stamp addr=80 source_stamp=%d", begin+135),
		"200: ros2:callback_end callback=19",
		"200: ros2:rclcpp_executor_get_next_ready synthesised=1",
		"210: ros2_caret:sim_time stamp=12",
		"220: ros2:rcl_lifecycle_transition state_machine=112 start_label=inactive goal_label=active",
	)
	end := read.Events[17]
	if end.CPU != 3 || end.PID != 77 || end.TID != 78 || end.Process != "a_name_of_more_t" {
		t.Errorf("the end of the callback is %+v", end)
	}
	for _, want := range []string{`hostname = "truck?7"`, `tracer_name = "lttng-ust"`, `synthesised_events = "ros2:rclcpp_take ros2:rclcpp_executor_get_next_ready ros2:rclcpp_executor_execute"`, `unknown_fields = "gid of ros2:rmw_subscription_init, version of ros2:rcl_init"`, "int32_t _vpid;", "address_t _publisher_handle;", "string _topic_name;"} {
		if !strings.Contains(read.Metadata, want) {
			t.Errorf("metadata lacks %s", want)
		}
	}
}

// Entities become the events of their inits; what was there before has the first time. What an event cannot be without
// leaves it out, and is counted.
func TestEntities(t *testing.T) {
	read, summary, _ := export(t, &trace.Batch{
		Processes: process(),
		Contexts:  []trace.Context{{ProcessKey: robot, ContextHandle: 0x1}},
		Nodes:     []trace.Node{{ProcessKey: robot, NodeHandle: 0x10, RMWHandle: 0x11, NodeName: "sensor", Namespace: "/", InitTimestamp: at(50)}, {ProcessKey: robot, NodeHandle: 0x18}},
		Publishers: []trace.Publisher{
			{ProcessKey: robot, PublisherHandle: 0x12, NodeHandle: 0x10, RMWPublisherHandle: 0x13, TopicName: "/points", QueueDepth: trace.Some[uint64](7), GID: "0102", InitTimestamp: at(60)},
			{ProcessKey: robot, PublisherHandle: 0x14, NodeHandle: 0x10, RMWPublisherHandle: 0x15, InitTimestamp: at(61)},
		},
		Subscriptions: []trace.Subscription{
			{ProcessKey: robot, SubscriptionHandle: 0x20, NodeHandle: 0x10, RMWSubscriptionHandle: 0x21, TopicName: "/points", Subscription: 0x22, Callback: 0x23, CallbackGroup: 0x40, InitTimestamp: at(70)},
			{ProcessKey: robot, SubscriptionHandle: 0x20, NodeHandle: 0x10, RMWSubscriptionHandle: 0x21, TopicName: "/points", Subscription: 0x24, Callback: 0x25, CallbackGroup: 0x40, Buffer: 0x26, IPB: 0x27, Capacity: trace.Some[uint64](3), InitTimestamp: at(70)},
		},
		Timers:         []trace.Timer{{ProcessKey: robot, TimerHandle: 0x30, Period: trace.Some[int64](1000), NodeHandle: 0x10, Callback: 0x31, CallbackGroup: 0x41, InitTimestamp: at(80)}},
		CallbackInfos:  []trace.CallbackInfo{{ProcessKey: robot, Callback: 0x31, Symbol: "Sensor::tick()", InitTimestamp: at(81)}, {ProcessKey: robot, Callback: 0x23, InitTimestamp: at(82)}},
		CallbackGroups: []trace.CallbackGroup{{ProcessKey: robot, CallbackGroup: 0x40, GroupTypeName: trace.Reentrant, Executor: 0x50, InitTimestamp: at(90)}},
		Executors:      []trace.Executor{{ProcessKey: robot, Executor: 0x50, ExecutorType: "single_threaded_executor", InitTimestamp: at(91)}},
		ServiceServers: []trace.ServiceServer{{ProcessKey: robot, ServiceHandle: 0x60, NodeHandle: 0x10, ServiceName: "/reset", Callback: 0x61, InitTimestamp: at(95)}},
		Clients:        []trace.Client{{ProcessKey: robot, ClientHandle: 0x62, NodeHandle: 0x10, RMWClientHandle: 0x64, ServiceName: "/reset", GID: "0a", InitTimestamp: at(96)}},
		LifecycleStateMachines: []trace.LifecycleStateMachine{
			{ProcessKey: robot, StateMachine: 0x63, NodeHandle: 0x10, InitTimestamp: at(97)},
		},
	}, ctf.Options{})
	requireLines(t, lines(read),
		"10: ros2_caret:caret_init clock_offset=5010 distribution=iron",
		"10: ros2:rcl_init context_handle=1 version=8.0.0",
		"50: ros2:rcl_node_init node_handle=16 rmw_handle=17 node_name=sensor namespace=/",
		"60: ros2:rmw_publisher_init rmw_publisher_handle=19 gid=0102"+strings.Repeat("00", 22),
		"60: ros2:rcl_publisher_init publisher_handle=18 node_handle=16 rmw_publisher_handle=19 topic_name=/points queue_depth=7",
		"61: ros2:rmw_publisher_init rmw_publisher_handle=21 gid="+strings.Repeat("00", 24),
		"69: ros2:rclcpp_subscription_callback_added subscription=36 callback=37",
		"70: ros2:rmw_subscription_init rmw_subscription_handle=33 gid="+strings.Repeat("00", 24),
		"70: ros2:rcl_subscription_init subscription_handle=32 node_handle=16 rmw_subscription_handle=33 topic_name=/points queue_depth=0",
		"70: ros2:rclcpp_subscription_init subscription_handle=32 subscription=34",
		"70: ros2:rclcpp_subscription_callback_added subscription=34 callback=35",
		"70: ros2_caret:callback_group_add_subscription callback_group_addr=64 subscription_handle=32",
		"70: ros2:rclcpp_subscription_init subscription_handle=32 subscription=36",
		"70: ros2:rclcpp_construct_ring_buffer buffer=38 capacity=3",
		"70: ros2:rclcpp_buffer_to_ipb buffer=38 ipb=39",
		"70: ros2:rclcpp_ipb_to_subscription ipb=39 subscription=36",
		"80: ros2:rcl_timer_init timer_handle=48 period=1000",
		"80: ros2:rclcpp_timer_callback_added timer_handle=48 callback=49",
		"80: ros2:rclcpp_timer_link_node timer_handle=48 node_handle=16",
		"80: ros2_caret:callback_group_add_timer callback_group_addr=65 timer_handle=48",
		"81: ros2:rclcpp_callback_register callback=49 symbol=Sensor::tick()",
		"82: ros2:rclcpp_callback_register callback=35 symbol=unknown",
		"90: ros2_caret:callback_group_to_executor_entity_collector entities_collector_addr=80 callback_group_addr=64 group_type_name=reentrant",
		"91: ros2_caret:executor_entity_collector_to_executor executor_addr=80 entities_collector_addr=80",
		"91: ros2_caret:construct_executor executor_addr=80 executor_type_name=single_threaded_executor",
		"95: ros2:rcl_service_init service_handle=96 node_handle=16 rmw_service_handle=0 service_name=/reset",
		"95: ros2:rclcpp_service_callback_added service_handle=96 callback=97",
		"96: ros2:rmw_client_init rmw_client_handle=100 gid=0a"+strings.Repeat("00", 23),
		"96: ros2:rcl_client_init client_handle=98 node_handle=16 rmw_client_handle=100 service_name=/reset",
		"97: ros2:rcl_lifecycle_state_machine_init node_handle=16 state_machine=99",
	)
	want := map[string]uint64{
		"ros2:rcl_node_init without a name": 1, "ros2:rcl_publisher_init without topic_name": 1,
		"ros2:rmw_publisher_init of which the gid is not known: it is zeros":         1,
		"ros2_caret:callback_group_add_timer with an unknown callback group":         1,
		"ros2_caret:callback_group_add_service without callback_group_addr":          1,
		"ros2:rclcpp_callback_register of which the symbol is not known: it says so": 1,
	}
	if !reflect.DeepEqual(summary.LeftOut, want) {
		t.Errorf("left out: %v, want %v", summary.LeftOut, want)
	}
}

// Executors run outermost callbacks, as far as can be concluded from them: before their messages are taken, and with
// something else to do when they end. What waits for work is recorded.
func TestExecutors(t *testing.T) {
	const thread = 7
	ran := func(callback trace.Address, from, to int64, depth int32) trace.Callback {
		return trace.Callback{
			ProcessKey: robot, TID: thread, CPU: 1, EndCPU: trace.Some[int32](2), Callback: callback, Depth: depth, Status: trace.CallbackComplete,
			CallbackStartTimestamp: at(from), CallbackEndTimestamp: at(to),
		}
	}
	unfinished := trace.Callback{ProcessKey: robot, TID: thread, Callback: 0x31, Status: trace.CallbackRecordingEnd, CallbackStartTimestamp: at(100)}
	begun := trace.Callback{ProcessKey: robot, TID: thread, Callback: 0x31, Status: trace.CallbackStartMissing, CallbackEndTimestamp: at(5)}
	taken := ran(0x23, 30, 35, 0)
	taken.SubscriptionHandle, taken.Message, taken.SourceTimestamp, taken.RMWTakeTimestamp, taken.RMWSubscriptionHandle = 0x20, 0x50, at(20), at(28), 0x21
	read, summary, _ := export(t, &trace.Batch{
		Timers: []trace.Timer{
			{ProcessKey: robot, TimerHandle: 0x30, Callback: 0x31}, {ProcessKey: robot, TimerHandle: 0x40, Callback: 0x41}, {ProcessKey: robot, TimerHandle: 0x42, Callback: 0x41},
		},
		ServiceServers: []trace.ServiceServer{{ProcessKey: robot, ServiceHandle: 0x60, Callback: 0x61}},
		Callbacks:      []trace.Callback{begun, ran(0x31, 10, 20, 0), ran(0x61, 12, 14, 1), taken, ran(0x61, 40, 41, 0), ran(0x41, 50, 51, 0), unfinished},
		Waits: []trace.Wait{
			{ProcessKey: robot, TID: thread, CPU: 3, Status: trace.WaitStartMissing, WaitEndTimestamp: at(8)},
			{ProcessKey: robot, TID: thread, CPU: 3, Status: trace.WaitComplete, WaitStartTimestamp: at(60), WaitEndTimestamp: at(70), Timeout: trace.Some[int64](-1)},
			{ProcessKey: robot, TID: thread, CPU: 3, Status: trace.WaitRecordingEnd, WaitStartTimestamp: at(80), Timeout: trace.Some[int64](9)},
		},
	}, ctf.Options{})
	const ready = "ros2:rclcpp_executor_get_next_ready synthesised=1"
	var got []string
	for _, line := range lines(read) {
		if strings.Contains(line, "executor_") && !strings.Contains(line, "ros2_caret:") || strings.Contains(line, "take") {
			got = append(got, line)
		}
	}
	requireLines(t, got,
		"8: "+ready,
		"10: ros2:rclcpp_executor_execute handle=48 synthesised=1", "20: "+ready,
		"28: ros2:rclcpp_executor_execute handle=32 synthesised=1",
		fmt.Sprintf("28: ros2:rmw_take rmw_subscription_handle=33 message=80 source_timestamp=%d taken=1", begin+20),
		"28: ros2:rclcpp_take message=80 synthesised=1", "35: "+ready,
		"40: ros2:rclcpp_executor_execute handle=96 synthesised=1", "41: "+ready,
		"50: ros2:rclcpp_executor_execute handle=0 synthesised=1", "51: "+ready, // two timers have had this callback
		"60: ros2:rclcpp_executor_wait_for_work timeout=-1", "70: "+ready,
		"80: ros2:rclcpp_executor_wait_for_work timeout=9",
		"100: ros2:rclcpp_executor_execute handle=48 synthesised=1",
	)
	if summary.Synthesised != 12 || summary.Hits != 15 {
		t.Errorf("%d events are synthesised and %d are hits", summary.Synthesised, summary.Hits)
	}
	for i := range read.Events {
		if e := &read.Events[i]; e.At == begin+70 && e.CPU != math.MaxUint32 {
			t.Errorf("the wait ended on CPU %d, which is not known", e.CPU)
		}
	}
}

// What a hit cannot be without leaves it out, and is counted; what is not known and has no place for that, too.
func TestUnknownValues(t *testing.T) {
	read, summary, _ := export(t, &trace.Batch{
		Enqueues: []trace.Enqueue{
			{ProcessKey: robot, Buffer: 1, EnqueueTimestamp: begin + 5},
			{ProcessKey: robot, Buffer: 1, Index: trace.Some[uint64](0), EnqueueTimestamp: begin + 6},
		},
		Takes: []trace.Take{
			{ProcessKey: robot, Kind: trace.TakeRMW, RMWTakeTimestamp: at(7)},
			{ProcessKey: robot, Kind: trace.TakeDequeue, Buffer: 1, DequeueTimestamp: at(8)},
		},
		Publishes: []trace.Publish{{ProcessKey: robot, RclcppPublishTimestamp: at(9), SourceTimestamp: at(9)}},
	}, ctf.Options{})
	requireLines(t, lines(read),
		"6: ros2:rclcpp_ring_buffer_enqueue buffer=1 index=0 size=0 overwritten=0",
		fmt.Sprintf("9: ros2_caret:dds_bind_addr_to_stamp addr=0 source_stamp=%d", begin+9),
	)
	want := map[string]uint64{
		"ros2:rclcpp_ring_buffer_enqueue without index":                                                   1,
		"ros2:rclcpp_ring_buffer_enqueue of which it is not known whether it has overwritten: it says no": 1,
		"ros2:rmw_take without source_timestamp":                                                          1,
		"ros2:rclcpp_ring_buffer_dequeue without index or size":                                           1,
		"ros2:rclcpp_publish without publisher_handle":                                                    1,
	}
	if !reflect.DeepEqual(summary.LeftOut, want) {
		t.Errorf("left out: %v, want %v", summary.LeftOut, want)
	}
}

// A part of a recording has the hits of its time and processes, and all that tells of entities.
func TestParts(t *testing.T) {
	other := trace.ProcessKey{BootID: "boot", PID: 99, ProcessStart: 1}
	rows := &trace.Batch{
		Processes: []trace.Process{{ProcessKey: robot, RecordingStartTimestamp: at(0)}, {ProcessKey: other, RecordingStartTimestamp: at(0)}},
		Nodes:     []trace.Node{{ProcessKey: robot, NodeHandle: 1, NodeName: "a", Namespace: "/"}, {ProcessKey: other, NodeHandle: 1, NodeName: "b", Namespace: "/"}},
		Callbacks: []trace.Callback{
			{ProcessKey: robot, Callback: 1, Status: trace.CallbackComplete, CallbackStartTimestamp: at(10), CallbackEndTimestamp: at(20), EndCPU: trace.Some[int32](0)},
			{ProcessKey: other, Callback: 2, Status: trace.CallbackComplete, CallbackStartTimestamp: at(20), CallbackEndTimestamp: at(30), EndCPU: trace.Some[int32](0)},
		},
		Losses: []trace.Loss{
			{Kind: trace.LostCallback, Reason: "ring_full", Count: 3, FromTimestamp: begin, ToTimestamp: begin + 5},
			{Kind: trace.LostCallback, Reason: "ring_full", Count: 4, FromTimestamp: begin + 6, ToTimestamp: begin + 12},
			{Kind: trace.LostCallback, Reason: "ring_full", Count: 5, FromTimestamp: begin + 40, ToTimestamp: begin + 50},
			// The trace has no events of these.
			{Kind: trace.LostSched, Reason: "ring_full", Count: 100, FromTimestamp: begin, ToTimestamp: begin + 50},
			{Kind: trace.LostService, Reason: "ring_full", Count: 100, FromTimestamp: begin, ToTimestamp: begin + 50},
			{Kind: trace.LostThread, Reason: "ring_full", Count: 100, FromTimestamp: begin, ToTimestamp: begin + 50},
			{Kind: trace.LostRaw, Reason: "ring_full", Count: 100, FromTimestamp: begin, ToTimestamp: begin + 50},
		},
	}
	for _, test := range []struct {
		name    string
		options ctf.Options
		hits    []string
		nodes   int
		lost    uint64
	}{
		{"all", ctf.Options{}, []string{"10", "20", "20", "30"}, 2, 12},
		{"a time", ctf.Options{Span: trace.Span{First: begin + 10, Last: begin + 20}}, []string{"10", "20", "20"}, 2, 4},
		{"a process", ctf.Options{Processes: []int32{99}}, []string{"20", "30"}, 1, 12},
		{"nobody", ctf.Options{Processes: []int32{1}}, nil, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "nobody" {
				rows.Losses = nil
			}
			read, summary, _ := export(t, rows, test.options)
			var hits []string
			nodes := 0
			for i := range read.Events {
				e := &read.Events[i]
				if strings.HasPrefix(e.Name, "ros2:callback_") {
					hits = append(hits, fmt.Sprint(e.At-begin))
				}
				if e.Name == "ros2:rcl_node_init" {
					nodes++
				}
			}
			if !slices.Equal(hits, test.hits) || nodes != test.nodes || summary.Lost != test.lost || summary.Hits != uint64(len(test.hits)) {
				t.Errorf("hits %v, %d nodes, %d lost, %d hits; want %+v", hits, nodes, summary.Lost, summary.Hits, test)
			}
		})
	}
}

// However little memory there is for sorting, the trace is the same. A dataset may hold anything.
func TestMemory(t *testing.T) {
	rows := tracetest.RandomBatch(500, 1)
	rows.Losses = []trace.Loss{{Count: math.MaxUint64, FromTimestamp: 1, ToTimestamp: 2}, {Count: 3, FromTimestamp: 1, ToTimestamp: 3}}
	whole, summary, _ := export(t, rows, ctf.Options{})
	if summary.Events < 1000 {
		t.Fatalf("only %d events", summary.Events)
	}
	inPieces, _, dir := export(t, rows, ctf.Options{SortBytes: 4096})
	if !reflect.DeepEqual(whole.Events, inPieces.Events) {
		t.Error("the trace differs with little memory")
	}
	if hidden, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(hidden) > 0 {
		t.Errorf("%v is left, %v", hidden, err)
	}
}

// babeltrace2 reads the same events, of the same time and kind.
func TestBabeltrace(t *testing.T) {
	program, err := exec.LookPath("babeltrace2")
	if err != nil {
		t.Skip("babeltrace2 is not installed")
	}
	read, _, dir := export(t, tracetest.Synthetic(2000), ctf.Options{})
	command := exec.CommandContext(t.Context(), program, "--no-delta", "--clock-seconds", dir)
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil || problems.Len() > 0 {
		t.Fatalf("%v: %s", err, problems.String())
	}
	got := make(map[string]int)
	for line := range strings.Lines(string(out)) {
		when, rest, _ := strings.Cut(line, "] ")
		for _, word := range strings.Fields(rest) {
			if strings.HasPrefix(word, "ros2") {
				got[when[1:]+" "+strings.TrimSuffix(word, ":")]++
				break
			}
		}
	}
	want := make(map[string]int)
	for i := range read.Events {
		e := &read.Events[i]
		want[fmt.Sprintf("%d.%09d %s", e.At/1e9, e.At%1e9, e.Name)]++
	}
	if len(want) < 1000 || !reflect.DeepEqual(got, want) {
		t.Errorf("babeltrace2 reads %d different events, the trace has %d", len(got), len(want))
	}
}

// A trace that cannot be written whole is not there.
func TestFailures(t *testing.T) {
	d := dataset(t, tracetest.RandomBatch(100, 1))
	there := t.TempDir()
	if _, err := ctf.Write(t.Context(), there, d, ctf.Options{}); !errors.Is(err, ctf.ErrExists) {
		t.Errorf("over a directory: %v", err)
	}
	if _, err := os.Stat(there); err != nil {
		t.Errorf("what was there is gone: %v", err)
	}
	file := filepath.Join(there, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ctf.Write(t.Context(), filepath.Join(file, "trace"), d, ctf.Options{}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("in a file: %v", err)
	}
	if _, err := ctf.Write(t.Context(), filepath.Join(there, "made", "along", "trace"), d, ctf.Options{}); err != nil {
		t.Errorf("in directories that are not there: %v", err)
	}
	if _, err := ctf.Write(t.Context(), filepath.Join(there, "slash")+"/", d, ctf.Options{}); err != nil {
		t.Errorf("with a slash at the end: %v", err)
	}
	link := filepath.Join(there, "link")
	if err := os.Symlink(filepath.Join(there, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := ctf.Write(t.Context(), filepath.Join(link, "trace"), d, ctf.Options{}); !errors.Is(err, wholefile.ErrUnwritable) || errors.Is(err, ctf.ErrExists) {
		t.Errorf("below a link that leads nowhere: %v", err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	dir := filepath.Join(there, "trace")
	if _, err := ctf.Write(interrupted, dir, d, ctf.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a half trace is left: %v", err)
	}
	// Of the directories that it is in, those are left that were there.
	made := filepath.Join(there, "made")
	for path, left := range map[string]string{filepath.Join(there, "a", "b", "trace"): there, filepath.Join(made, "c", "trace"): made} {
		if _, err := ctf.Write(interrupted, path, d, ctf.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
		for _, name := range []string{"a", "c"} {
			if _, err := os.Lstat(filepath.Join(left, name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left in %s: %v", name, left, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(made, "along", "trace", "metadata")); err != nil {
		t.Errorf("another trace is gone: %v", err)
	}
	if _, err := ctf.Write(t.Context(), filepath.Join(there, "f", strings.Repeat("x", 300)), d, ctf.Options{}); !errors.Is(err, wholefile.ErrUnwritable) {
		t.Errorf("with a name that is too long: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(there, "f")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory above one that cannot be made is left: %v", err)
	}
}

// replaced is a context that is interrupted when it is asked first whether it is, and then has another directory at
// the path of the trace.
type replaced struct {
	context.Context
	once    sync.Once
	replace func()
}

func (r *replaced) Err() error {
	r.once.Do(r.replace)
	return r.Context.Err()
}

// A directory that others have put where the trace was is left to them.
func TestReplacedFolder(t *testing.T) {
	d := dataset(t, tracetest.Synthetic(100))
	above := filepath.Join(t.TempDir(), "above")
	dir := filepath.Join(above, "trace")
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := ctf.Write(&replaced{Context: ctx, replace: func() {
		if err := errors.Join(os.Rename(above, above+"-moved"), os.MkdirAll(dir, 0o750)); err != nil {
			t.Error(err)
		}
	}}, dir, d, ctf.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the directory of others is gone: %v", err)
	}
}

// A segment that cannot be read is told, and the trace has the others.
func TestDamagedSegment(t *testing.T) {
	d := dataset(t, tracetest.Synthetic(100))
	if err := os.WriteFile(filepath.Join(d.Dir(), trace.TableTake, "000009.parquet"), []byte("PAR1"), 0o600); err != nil {
		t.Fatal(err)
	}
	summary, err := ctf.Write(t.Context(), filepath.Join(t.TempDir(), "trace"), d, ctf.Options{})
	if err != nil || len(summary.Damaged) != 1 || summary.Hits == 0 {
		t.Errorf("%+v, %v", summary, err)
	}
}

// BenchmarkWrite exports a system, from a dataset that is read again each time.
func BenchmarkWrite(b *testing.B) {
	const callbacks = 100_000
	d := dataset(b, tracetest.Synthetic(callbacks))
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		if _, err := ctf.Write(b.Context(), filepath.Join(dir, fmt.Sprint(i)), d, ctf.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(callbacks)*float64(b.N)/b.Elapsed().Seconds(), "callbacks/s")
}
