package perfetto_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/perfetto"
	"github.com/caret-bpf/caret-bpf/export/perfetto/perfettotest"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// begin is when the recordings of these tests begin.
const begin = int64(1_790_000_000_000_000_000)

var robot = trace.ProcessKey{BootID: "boot", PID: 77, ProcessStart: 1}

// system has a sensor, whose timer publishes points, and two filters that get them.
func system() *trace.Batch {
	return &trace.Batch{
		Processes: []trace.Process{{ProcessKey: robot, Command: "robot", CommandLine: "/opt/robot --fast", RecordingEndTimestamp: trace.Some(begin + 900)}},
		Nodes: []trace.Node{
			{ProcessKey: robot, NodeHandle: 0x10, NodeName: "sensor", Namespace: "/"}, {ProcessKey: robot, NodeHandle: 0x20, NodeName: "left", Namespace: "/"},
			{ProcessKey: robot, NodeHandle: 0x30, NodeName: "right", Namespace: "/"},
		},
		Publishers: []trace.Publisher{
			{ProcessKey: robot, PublisherHandle: 0x11, NodeHandle: 0x10, TopicName: "/points", GID: "aa"}, {ProcessKey: robot, PublisherHandle: 0x21, NodeHandle: 0x20, TopicName: "/objects", GID: "bb"},
		},
		Subscriptions: []trace.Subscription{
			{ProcessKey: robot, SubscriptionHandle: 0x22, NodeHandle: 0x20, TopicName: "/points", Subscription: 0x23, Callback: 0x24},
			{ProcessKey: robot, SubscriptionHandle: 0x32, NodeHandle: 0x30, TopicName: "/points", Subscription: 0x33, Callback: 0x34},
			{ProcessKey: robot, SubscriptionHandle: 0x35, NodeHandle: 0x30, TopicName: "/objects", Subscription: 0x36, RMWSubscriptionHandle: 0x37},
		},
		Timers: []trace.Timer{{ProcessKey: robot, TimerHandle: 0x12, NodeHandle: 0x10, Callback: 0x13, Period: trace.Some[int64](100_000_000)}},
	}
}

// ran is a callback, on a thread, from a time to another since begin; 0 is not seen.
func ran(tid int32, callback trace.Address, from, to int64, status trace.CallbackStatus, depth int32) trace.Callback {
	row := trace.Callback{ProcessKey: robot, TID: tid, CPU: 1, Callback: callback, Status: status, Depth: depth}
	if from != 0 {
		row.CallbackStartTimestamp = trace.Some(begin + from)
	}
	if to != 0 {
		row.CallbackEndTimestamp = trace.Some(begin + to)
	}
	return row
}

// got is ran, for a message that was published then.
func got(tid int32, callback trace.Address, from, to int64, gid string, source int64) trace.Callback {
	row := ran(tid, callback, from, to, trace.CallbackComplete, 0)
	row.PublisherGID, row.SourceTimestamp, row.RMWTakeTimestamp = gid, trace.Some(begin+source), trace.Some(begin+from)
	return row
}

func published(tid int32, publisher trace.Address, at int64, depth int32) trace.Publish {
	return trace.Publish{
		ProcessKey: robot, TID: tid, PublishNumber: uint64(at), PublisherHandle: publisher, RclcppPublishTimestamp: trace.Some(begin + at),
		SourceTimestamp: trace.Some(begin + at), Status: trace.PublishComplete, Depth: depth,
	}
}

// export writes the trace of rows, with the ways along paths, and reads it.
func export(t *testing.T, rows *trace.Batch, filter analyze.Filter, options perfetto.Options, paths ...string) (*perfettotest.Trace, perfetto.Summary) {
	t.Helper()
	dir := t.TempDir()
	tracetest.AddSegments(t, dir, 0, rows)
	session := trace.NewSession()
	session.Clock = trace.Clock{MonotonicTimestamp: 5_000, RealtimeTimestamp: begin, RealtimeOffset: begin - 5_000}
	tracetest.AddSession(t, dir, session)
	d := tracetest.Open(t, dir)
	q, err := analyze.NewQuery(t.Context(), filter, d)
	if err != nil {
		t.Fatal(err)
	}
	if options.Compression == "" {
		options.Compression = perfetto.Zstd
	}
	for _, path := range paths {
		if options.Paths, err = q.Architecture.FindPaths(path); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	summary, err := perfetto.Write(t.Context(), &out, d, q, options)
	if err != nil {
		t.Fatal(err)
	}
	if summary.Bytes != int64(out.Len()) {
		t.Errorf("the summary tells of %d bytes, written were %d", summary.Bytes, out.Len())
	}
	decoded, err := perfettotest.Decode(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return decoded, summary
}

// drawn lists the slices and instants of a category: "from-to name in parent [arguments]".
func drawn(of []*perfettotest.Slice, category string) (lines []string) {
	for _, s := range of {
		if s.Category != category {
			continue
		}
		line := fmt.Sprintf("%d-%d %s", s.Begin-begin, s.End-begin, s.Name)
		if s.Parent != nil {
			line += fmt.Sprintf(" in %d-%d", s.Parent.Begin-begin, s.Parent.End-begin)
		}
		for _, name := range []string{"status", "start", "end", "end_cpu", "cpu_time_ns", "preempted_time_ns", "blocked_time_ns", "wakeup_latency_ns", "by", "woken_where_ran"} {
			if v, ok := s.Arguments[name]; ok {
				line += fmt.Sprintf(" %s=%v", name, v)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func parted(row trace.Callback, cpu, preempted, blocked, wakeup int64) trace.Callback {
	tracetest.SetParts(&row, cpu, preempted, blocked, wakeup, 0, 0)
	return row
}

// Callbacks nest as they ran. Times that were not seen are not made up: an argument says what is drawn in their place.
func TestCallbacks(t *testing.T) {
	const atLast, atEnd = " end=not seen: drawn to the last event that was seen in it", " end=not seen: drawn to the end of the recording"
	for name, test := range map[string]struct {
		rows                []trace.Callback
		published           []trace.Publish
		slices, instants    []string
		overlapping         uint64
		onNode, onOtherNode int
	}{
		"one after the other": {
			rows:   []trace.Callback{ran(1, 0x13, 10, 20, trace.CallbackComplete, 0), ran(1, 0x13, 30, 40, trace.CallbackComplete, 0)},
			slices: []string{"10-20 /sensor timer 100ms", "30-40 /sensor timer 100ms"}, onNode: 2,
		},
		"with the parts of its duration": {
			rows:   []trace.Callback{parted(ran(1, 0x13, 10, 20, trace.CallbackComplete, 0), 4, 3, 2, 1)},
			slices: []string{"10-20 /sensor timer 100ms cpu_time_ns=4 preempted_time_ns=3 blocked_time_ns=2 wakeup_latency_ns=1"}, onNode: 1,
		},
		"nested, in the order of completion": {
			rows: []trace.Callback{
				ran(1, 0x24, 20, 30, trace.CallbackComplete, 1), ran(1, 0x34, 40, 50, trace.CallbackComplete, 2), ran(1, 0x24, 35, 60, trace.CallbackComplete, 1),
				ran(1, 0x13, 10, 70, trace.CallbackComplete, 0),
			},
			slices: []string{"10-70 /sensor timer 100ms", "20-30 /left /points in 10-70", "35-60 /left /points in 10-70", "40-50 /right /points in 35-60"},
			onNode: 1, onOtherNode: 2,
		},
		"by a coarse clock": {
			rows: []trace.Callback{
				ran(1, 0x24, 10, 10, trace.CallbackComplete, 1), ran(1, 0x13, 10, 20, trace.CallbackComplete, 0), ran(1, 0x13, 20, 20, trace.CallbackComplete, 0),
				ran(1, 0x13, 20, 30, trace.CallbackComplete, 0),
			},
			slices: []string{"10-20 /sensor timer 100ms", "10-10 /left /points in 10-20", "20-20 /sensor timer 100ms", "20-30 /sensor timer 100ms"},
			onNode: 3, onOtherNode: 1,
		},
		"a start that is missing": {
			rows:     []trace.Callback{ran(1, 0x13, 0, 20, trace.CallbackStartMissing, 0), ran(1, 0x13, 30, 40, trace.CallbackComplete, 0)},
			slices:   []string{"30-40 /sensor timer 100ms"},
			instants: []string{"20-20 /sensor timer 100ms status=start_missing start=not seen: drawn as an instant, where it ended"}, onNode: 1,
		},
		"left by an exception": {
			rows: []trace.Callback{
				ran(1, 0x24, 20, 30, trace.CallbackComplete, 1), ran(1, 0x13, 10, 0, trace.CallbackUnwound, 0), ran(1, 0x13, 100, 110, trace.CallbackComplete, 0),
			},
			slices: []string{"10-30 /sensor timer 100ms status=unwound" + atLast, "20-30 /left /points in 10-30", "100-110 /sensor timer 100ms"},
			onNode: 2, onOtherNode: 1,
		},
		"left by an exception in another one": {
			rows:      []trace.Callback{ran(1, 0x24, 20, 0, trace.CallbackUnwound, 1), ran(1, 0x13, 10, 90, trace.CallbackComplete, 0)},
			published: []trace.Publish{published(1, 0x21, 30, 2), published(1, 0x11, 50, 1)},
			slices:    []string{"10-90 /sensor timer 100ms", "20-30 /left /points in 10-90 status=unwound" + atLast},
			onNode:    1, onOtherNode: 1,
		},
		"when the recording ended": {
			rows:   []trace.Callback{ran(1, 0x24, 20, 0, trace.CallbackRecordingEnd, 1), ran(1, 0x13, 10, 0, trace.CallbackRecordingEnd, 0)},
			slices: []string{"10-900 /sensor timer 100ms status=recording_end" + atEnd, "20-900 /left /points in 10-900 status=recording_end" + atEnd},
			onNode: 1, onOtherNode: 1,
		},
		"when the thread ended": {
			rows:      []trace.Callback{ran(1, 0x13, 10, 0, trace.CallbackThreadExit, 0)},
			published: []trace.Publish{published(1, 0x11, 50, 1)},
			slices:    []string{"10-50 /sensor timer 100ms status=thread_exit" + atLast}, onNode: 1,
		},
		"that contradict each other": {
			rows:   []trace.Callback{ran(1, 0x13, 10, 50, trace.CallbackComplete, 0), ran(1, 0x24, 30, 70, trace.CallbackComplete, 0), ran(1, 0x24, 40, 90, trace.CallbackComplete, 1)},
			slices: []string{"10-50 /sensor timer 100ms", "30-70 /left /points", "40-90 /left /points"}, overlapping: 2, onNode: 1, onOtherNode: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows := system()
			rows.Callbacks, rows.Publishes = test.rows, test.published
			got, summary := export(t, rows, analyze.Filter{}, perfetto.Options{})
			wantLines(t, "slices", drawn(got.Slices, "callback"), test.slices...)
			wantLines(t, "instants", drawn(got.Instants, "callback"), test.instants...)
			onNode := make(map[string]int)
			for _, s := range got.Slices {
				if s.Category == "node" {
					onNode[s.Track.Name]++
				}
			}
			if onNode["/sensor"] != test.onNode || onNode["/left"] != test.onOtherNode {
				t.Errorf("on the nodes are %v", onNode)
			}
			if summary.Overlapping != test.overlapping || summary.Callbacks != uint64(len(test.rows)) {
				t.Errorf("the summary is %+v", summary)
			}
		})
	}
}

// communication has points that both filters get, points that one of them gets, and objects that are polled.
func communication() *trace.Batch {
	rows := system()
	rows.Callbacks = []trace.Callback{
		ran(1, 0x13, 10, 30, trace.CallbackComplete, 0), got(2, 0x24, 40, 80, "aa", 20), got(3, 0x34, 50, 60, "aa", 20), ran(1, 0x13, 110, 130, trace.CallbackComplete, 0),
		got(3, 0x34, 150, 160, "aa", 120), ran(1, 0x13, 210, 230, trace.CallbackComplete, 0), got(2, 0x24, 240, 280, "aa", 220), got(3, 0x34, 240, 260, "aa", 220),
	}
	rows.Publishes = []trace.Publish{published(1, 0x11, 20, 1), published(2, 0x21, 70, 1), published(1, 0x11, 120, 1), published(1, 0x11, 220, 1)}
	rows.Publishes[1].Callback, rows.Publishes[1].CallbackStartTimestamp = 0x24, trace.Some(begin+40)
	rows.Takes = []trace.Take{{
		ProcessKey: robot, TID: 3, Kind: trace.TakeRMW, SubscriptionHandle: 0x35, RMWTakeTimestamp: trace.Some(begin + 155), SourceTimestamp: trace.Some(begin + 70),
		PublisherGID: "bb", Callback: 0x34, CallbackStartTimestamp: trace.Some(begin + 150),
	}}
	return rows
}

// flowsOf lists the flows: "from name -> to name".
func flowsOf(of *perfettotest.Trace) (lines []string) {
	for _, f := range of.Flows {
		lines = append(lines, fmt.Sprintf("%d %s -> %d %s", f.From.Begin-begin, f.From.Name, f.To.Begin-begin, f.To.Name))
	}
	slices.Sort(lines)
	return lines
}

// Each publish has a flow to each callback that gets the message, in every compression.
func TestFlows(t *testing.T) {
	for _, compression := range perfetto.Compressions {
		t.Run(string(compression), func(t *testing.T) {
			trace, summary := export(t, communication(), analyze.Filter{}, perfetto.Options{Compression: compression})
			wantLines(t, "flows", flowsOf(trace),
				"120 publish /points -> 150 /right /points", "20 publish /points -> 40 /left /points", "20 publish /points -> 50 /right /points",
				"220 publish /points -> 240 /left /points", "220 publish /points -> 240 /right /points", "70 publish /objects -> 155 take /objects")
			wantLines(t, "publishes", drawn(trace.Instants, "publish"),
				"20-20 publish /points in 10-30", "70-70 publish /objects in 40-80", "120-120 publish /points in 110-130", "220-220 publish /points in 210-230")
			wantLines(t, "polls", drawn(trace.Instants, "poll"), "155-155 take /objects in 150-160")
			if summary.Publishes != 4 || summary.Polls != 1 || summary.Flows != 6 {
				t.Errorf("the summary is %+v", summary)
			}
		})
	}
}

// By a clock that is too coarse to tell the order a message is received after its publish.
func TestFlowsAtOneTime(t *testing.T) {
	rows := system()
	rows.Callbacks = []trace.Callback{got(2, 0x24, 10, 10, "aa", 10), ran(3, 0x13, 10, 10, trace.CallbackComplete, 0)}
	rows.Publishes = []trace.Publish{published(3, 0x11, 10, 1)}
	decoded, _ := export(t, rows, analyze.Filter{}, perfetto.Options{})
	wantLines(t, "flows", flowsOf(decoded), "10 publish /points -> 10 /left /points")
	wantLines(t, "publishes", drawn(decoded.Instants, "publish"), "10-10 publish /points in 10-10")
}

// A filter leaves nothing of what it does not select, and no flow with one end.
func TestFilters(t *testing.T) {
	all := regexp.MustCompile
	for name, test := range map[string]struct {
		filter                analyze.Filter
		callbacks, publishes  int
		flows                 []string
		withoutOther, without string
	}{
		"a node":     {analyze.Filter{Nodes: []*regexp.Regexp{all("/left")}}, 2, 1, nil, "/right", "/sensor"},
		"two nodes":  {analyze.Filter{Nodes: []*regexp.Regexp{all("/left"), all("/sensor")}}, 5, 4, []string{"20 publish /points -> 40 /left /points", "220 publish /points -> 240 /left /points"}, "/right", "/right"},
		"a topic":    {analyze.Filter{Topics: []*regexp.Regexp{all("/objects")}}, 5, 1, []string{"70 publish /objects -> 155 take /objects"}, "/sensor", "/points"},
		"a process":  {analyze.Filter{Processes: []int32{78}}, 0, 0, nil, "/left", "/sensor"},
		"after":      {analyze.Filter{From: trace.Some(begin + 100)}, 5, 2, []string{"120 publish /points -> 150 /right /points", "220 publish /points -> 240 /left /points", "220 publish /points -> 240 /right /points"}, "/nothing", "/nothing"},
		"before":     {analyze.Filter{To: trace.Some(begin + 45)}, 2, 1, []string{"20 publish /points -> 40 /left /points"}, "/right", "/right"},
		"in between": {analyze.Filter{From: trace.Some(begin + 30), To: trace.Some(begin + 200)}, 4, 2, []string{"120 publish /points -> 150 /right /points", "70 publish /objects -> 155 take /objects"}, "/nothing", "/nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			decoded, _ := export(t, communication(), test.filter, perfetto.Options{})
			if got := len(drawn(decoded.Slices, "callback")); got != test.callbacks {
				t.Errorf("%d callbacks: %v", got, drawn(decoded.Slices, "callback"))
			}
			if got := len(drawn(decoded.Instants, "publish")); got != test.publishes {
				t.Errorf("%d publishes", got)
			}
			wantLines(t, "flows", flowsOf(decoded), test.flows...)
			for _, track := range decoded.Tracks {
				if strings.Contains(track.Name, test.without) || strings.Contains(track.Name, test.withoutOther) {
					t.Errorf("there is a track %s", track.Name)
				}
			}
		})
	}
}

// Processes, threads, nodes and topics have tracks; rates are numbers of a second.
func TestTracksAndRates(t *testing.T) {
	rows := communication()
	rows.Callbacks = append(rows.Callbacks, ran(1, 0x13, 3_000_000_010, 3_000_000_020, trace.CallbackComplete, 0))
	decoded, _ := export(t, rows, analyze.Filter{}, perfetto.Options{})
	threads, names := 0, make(map[string]bool)
	for _, track := range decoded.Tracks {
		names[track.Name] = true
		switch {
		case track.TID != 0 && track.PID == 77:
			threads++
		case track.PID == 77 && track.Process != "robot":
			t.Errorf("the process is %q", track.Process)
		}
	}
	if threads != 3 || !names["/sensor"] || !names["/left"] || !names["/right"] {
		t.Errorf("%d threads, and tracks %v", threads, names)
	}
	var rates []string
	for _, c := range decoded.Counters {
		if c.Track.Name == "/sensor callbacks" || c.Track.Name == "/points publishes" {
			rates = append(rates, fmt.Sprintf("%s %d: %d", c.Track.Name, (c.At-begin)/1_000_000_000, c.Value))
		}
	}
	slices.Sort(rates)
	wantLines(t, "rates", rates, "/points publishes 0: 3", "/sensor callbacks 0: 3", "/sensor callbacks 1: 0", "/sensor callbacks 3: 1")
	if decoded.Clocks[1] != begin || decoded.Clocks[3] != 5_000 {
		t.Errorf("the clocks are %v", decoded.Clocks)
	}
}

// Calls of services are drawn with their parts, as far as they were seen, and transitions of managed nodes.
func TestServicesAndTransitions(t *testing.T) {
	rows := system()
	rows.ServiceServers = []trace.ServiceServer{{ProcessKey: robot, ServiceHandle: 0x40, NodeHandle: 0x20, ServiceName: "/reset", NodeName: "/left"}}
	rows.Clients = []trace.Client{{ProcessKey: robot, ClientHandle: 0x41, NodeHandle: 0x30, ServiceName: "/reset", NodeName: "/right", GID: "cc"}}
	step := func(of trace.ServiceStep, at, sequence int64) {
		row := trace.Service{ProcessKey: robot, TID: 1, Step: of, StepTimestamp: begin + at, ClientGID: "cc", SequenceNumber: sequence, ServiceName: "/reset"}
		if of == trace.RequestSent || of == trace.ResponseTaken {
			row.ClientHandle, row.NodeName = 0x41, "/right"
		} else {
			row.ServiceHandle, row.NodeName = 0x40, "/left"
		}
		rows.Services = append(rows.Services, row)
	}
	step(trace.RequestSent, 10, 1)
	step(trace.RequestTaken, 12, 1)
	step(trace.RequestSent, 13, 2)
	step(trace.ResponseSent, 16, 1)
	step(trace.ResponseTaken, 17, 1)
	step(trace.RequestTaken, 18, 2)
	rows.Lifecycles = []trace.Lifecycle{{ProcessKey: robot, TransitionTimestamp: begin + 20, StartLabel: "inactive", GoalLabel: "active", NodeName: "/left"}}
	decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{})
	if summary.Calls != 2 || summary.Transitions != 1 {
		t.Errorf("%+v", summary)
	}
	wantLines(t, "calls", drawn(decoded.Slices, "service"),
		"10-17 /reset", "10-12 request in 10-17", "12-16 server in 10-17",
		"13-18 /reset end=not seen: drawn to the last step that was", "13-18 request in 13-18", "16-17 response in 10-17",
	)
	for _, s := range decoded.Slices {
		if s.Name == "/reset" && (s.Arguments["client"] != "/right" || s.Arguments["server"] != "/left") {
			t.Errorf("a call has %v", s.Arguments)
		}
	}
	wantLines(t, "transitions", drawn(decoded.Instants, "lifecycle"), "20-20 inactive → active")
	none, _ := export(t, rows, analyze.Filter{Nodes: []*regexp.Regexp{regexp.MustCompile("/sensor")}}, perfetto.Options{})
	if calls, transitions := drawn(none.Slices, "service"), drawn(none.Instants, "lifecycle"); len(calls)+len(transitions) > 0 {
		t.Errorf("of another node there are %v, %v", calls, transitions)
	}
}

// Waits are drawn on tracks of their threads, those of which one end is missing as instants, and simulated time as a
// counter. Where names are asked for there are none.
func TestWaitsAndSimulatedTime(t *testing.T) {
	rows := system()
	rows.Waits = []trace.Wait{
		{ProcessKey: robot, TID: 5, WaitStartTimestamp: trace.Some(begin + 10), WaitEndTimestamp: trace.Some(begin + 20), Status: trace.WaitComplete},
		{ProcessKey: robot, TID: 5, WaitEndTimestamp: trace.Some(begin + 5), Status: trace.WaitStartMissing},
		{ProcessKey: robot, TID: 6, WaitStartTimestamp: trace.Some(begin + 30), Status: trace.WaitRecordingEnd},
	}
	rows.SimTimes = []trace.SimTime{{ProcessKey: robot, UpdateTimestamp: begin + 7, SimTime: 42}}
	decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{})
	if summary.Waits != 3 || summary.IsEmpty() {
		t.Errorf("%+v", summary)
	}
	wantLines(t, "waits", drawn(decoded.Slices, "wait"), "10-20 wait")
	wantLines(t, "waits with one end", drawn(decoded.Instants, "wait"),
		"5-5 wait status=start_missing start=not seen: drawn as an instant at its other end", "30-30 wait status=recording_end end=not seen: drawn as an instant at its other end")
	if len(decoded.Counters) != 1 || decoded.Counters[0].Value != 42 || decoded.Counters[0].At != begin+7 {
		t.Errorf("counters: %+v", decoded.Counters)
	}
	for name, filter := range map[string]analyze.Filter{
		"of a node":    {Nodes: []*regexp.Regexp{regexp.MustCompile("/sensor")}},
		"of a process": {Processes: []int32{1}},
		"of a time":    {From: trace.Some(begin + 40)},
	} {
		none, summary := export(t, rows, filter, perfetto.Options{})
		if summary.Waits > 0 || len(none.Counters) > 0 {
			t.Errorf("%s: %+v, %d counters", name, summary, len(none.Counters))
		}
	}
}

// Times off the CPU are drawn on tracks of their threads, with who had to do with them.
func TestTimesOffCPU(t *testing.T) {
	rows := system()
	hog := func(row trace.Sched) trace.Sched {
		row.OtherPID, row.OtherTID, row.OtherCommand, row.OtherPriority = trace.Some[int32](20), trace.Some[int32](21), "hog", trace.Some[int32](9)
		return row
	}
	rows.Scheds = []trace.Sched{
		hog(trace.Sched{ProcessKey: robot, TID: 5, Kind: trace.SchedPreempted, SchedOutTimestamp: begin + 10, SchedInTimestamp: begin + 20}),
		hog(trace.Sched{ProcessKey: robot, TID: 5, Kind: trace.SchedBlocked, SchedOutTimestamp: begin + 30, SchedInTimestamp: begin + 50, WakingTimestamp: trace.Some(begin + 44)}),
		{ProcessKey: robot, TID: 5, Kind: trace.SchedBlocked, SchedOutTimestamp: begin + 60, SchedInTimestamp: begin + 70},
	}
	decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{})
	if summary.TimesOffCPU != 3 || summary.IsEmpty() {
		t.Errorf("%+v", summary)
	}
	wantLines(t, "times off the CPU", drawn(decoded.Slices, "off_cpu"),
		"10-20 preempted by=hog, PID 20, thread 21, priority 9", "30-44 blocked woken_where_ran=hog, PID 20, thread 21, priority 9", "44-50 awake", "60-70 blocked")
	if err := decoded.CheckTimesOffCPU(); err != nil {
		t.Error(err)
	}
	for name, filter := range map[string]analyze.Filter{
		"of a node":    {Nodes: []*regexp.Regexp{regexp.MustCompile("/sensor")}},
		"of a process": {Processes: []int32{1}},
		"of a time":    {From: trace.Some(begin + 80)},
	} {
		if _, summary := export(t, rows, filter, perfetto.Options{}); summary.TimesOffCPU > 0 {
			t.Errorf("%s: %+v", name, summary)
		}
	}
	rows.Scheds = append(rows.Scheds, hog(trace.Sched{ProcessKey: robot, TID: 5, Kind: trace.SchedPreempted, SchedOutTimestamp: begin + 65, SchedInTimestamp: begin + 75}))
	decoded, _ = export(t, rows, analyze.Filter{}, perfetto.Options{})
	if err := decoded.CheckTimesOffCPU(); err == nil {
		t.Error("a thread that is off the CPU twice at a time was not found")
	}
}

// What a thread did before a callback, and on a hop, is an argument where it is known, and adds up.
func TestTimeBefore(t *testing.T) {
	rows := system()
	rows.Callbacks = []trace.Callback{
		parted(ran(1, 0x13, 10, 30, trace.CallbackComplete, 0), 20, 0, 0, 0), parted(got(2, 0x24, 40, 80, "aa", 20), 40, 0, 0, 0),
		parted(ran(2, 0x34, 100, 150, trace.CallbackComplete, 0), 45, 5, 0, 0), parted(ran(1, 0x13, 110, 130, trace.CallbackComplete, 0), 20, 0, 0, 0),
		parted(got(2, 0x24, 170, 180, "aa", 120), 10, 0, 0, 0),
	}
	rows.Publishes = []trace.Publish{published(1, 0x11, 20, 1), published(1, 0x11, 120, 1)}
	rows.Scheds = []trace.Sched{
		{
			ProcessKey: robot, TID: 2, Kind: trace.SchedPreempted, SchedOutTimestamp: begin + 110, SchedInTimestamp: begin + 115,
			Callback: 0x34, CallbackStartTimestamp: trace.Some(begin + 100),
		},
		{ProcessKey: robot, TID: 2, Kind: trace.SchedBlocked, SchedOutTimestamp: begin + 150, SchedInTimestamp: begin + 162, WakingTimestamp: trace.Some(begin + 160)},
		{
			ProcessKey: robot, TID: 2, Kind: trace.SchedPreempted, SchedOutTimestamp: begin + 164, SchedInTimestamp: begin + 167,
			OtherPID: trace.Some[int32](20), OtherTID: trace.Some[int32](21), OtherCommand: "hog", OtherPriority: trace.Some[int32](9),
		},
	}
	decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{}, "[/sensor]-[/points]-[/left]")
	if summary.Ways != 2 {
		t.Fatalf("%d ways", summary.Ways)
	}
	parts := map[string]any{
		"other_callbacks_ns": int64(30), "executor_ns": int64(5), "preempted_time_ns": int64(3), "blocked_time_ns": int64(10), "wakeup_latency_ns": int64(2), "behind_time_ns": int64(30),
	}
	const hog = "hog, PID 20, thread 21"
	checked := 0
	for _, s := range decoded.Slices {
		late := s.Begin == begin+170 && s.Category == "callback"
		if late {
			checked++
			for name, want := range parts {
				if got := s.Arguments["before."+name]; got != want {
					t.Errorf("before the callback %s is %v, want %v", name, got, want)
				}
			}
			behind, _ := s.Arguments["before.behind"].(string)
			if s.Arguments["before.since"] != "publish" || s.Arguments["before.latency_ns"] != int64(50) || s.Arguments["before.preempted_by"] != hog || !strings.HasPrefix(behind, "/right") {
				t.Errorf("before the callback: %v", s.Arguments)
			}
		} else if _, known := s.Arguments["before.latency_ns"]; known && s.Name == "/left /points" {
			t.Errorf("of the thread's first callback it is known what went before: %v", s.Arguments)
		}
		if s.Category != "path" {
			continue
		}
		if s.Begin == begin+120 && s.Name == "communication /points" && (s.Arguments["preempted_by"] != hog || s.Arguments["preempted_by_time_ns"] != int64(3)) {
			t.Errorf("on a hop: %v", s.Arguments)
		}
		for name, want := range parts {
			if got := s.Arguments[name]; s.Begin == begin+120 && got != want || s.Begin == begin+20 && got != nil {
				t.Errorf("on %s from %d %s is %v", s.Name, s.Begin-begin, name, got)
			}
		}
	}
	if checked != 1 {
		t.Errorf("the late callback is there %d times", checked)
	}
	// The times are of a thread, so they are known of one node, too.
	decoded, _ = export(t, rows, analyze.Filter{Nodes: []*regexp.Regexp{regexp.MustCompile("/left")}}, perfetto.Options{})
	if !slices.ContainsFunc(decoded.Slices, func(s *perfettotest.Slice) bool { return s.Arguments["before.latency_ns"] == int64(50) }) {
		t.Error("of one node it is not known what went before its callback")
	}
}

// What is missing is drawn where it is missing.
func TestLosses(t *testing.T) {
	rows := communication()
	rows.Losses = []trace.Loss{
		{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 3, FromTimestamp: begin + 10, ToTimestamp: begin + 50},
		{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 4, FromTimestamp: begin + 40, ToTimestamp: begin + 90},
		{Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: begin + 5, ToTimestamp: begin + 15, PID: 77, ProcessStart: 1, File: "/lib/libnew.so"},
	}
	decoded, _ := export(t, rows, analyze.Filter{}, perfetto.Options{})
	wantLines(t, "losses", drawn(decoded.Slices, "loss"), "5-15 not seen: what was done in /lib/libnew.so", "10-50 callback: ring_full", "40-90 callback: ring_full")
	var counts []string
	for _, c := range decoded.Counters {
		if c.Track.Name == "callback: ring_full, so far" {
			counts = append(counts, fmt.Sprintf("%d: %d", c.At-begin, c.Value))
		}
	}
	wantLines(t, "counts", counts, "10: 0", "50: 3", "90: 7")
	decoded, _ = export(t, rows, analyze.Filter{From: trace.Some(begin + 60)}, perfetto.Options{})
	wantLines(t, "losses since 60", drawn(decoded.Slices, "loss"), "40-90 callback: ring_full")
}

// The hops of a message along a path have a correlation id in common, and no other message has it.
func TestPaths(t *testing.T) {
	decoded, summary := export(t, communication(), analyze.Filter{}, perfetto.Options{}, "[/sensor]-[/points]-[/left]")
	wantLines(t, "ways", drawn(decoded.Slices, "path"),
		"20-40 [/sensor]-[/points]-[/left]", "20-40 communication /points in 20-40", "220-240 [/sensor]-[/points]-[/left]", "220-240 communication /points in 220-240")
	ways := make(map[uint64]int)
	for _, s := range decoded.Slices {
		if s.Category == "path" {
			ways[s.Correlation]++
		}
	}
	if len(ways) != 2 || ways[1] != 2 || ways[2] != 2 || summary.Ways != 2 {
		t.Errorf("slices by correlation ids: %v; the summary is %+v", ways, summary)
	}
}

// Rows may name what no entity table tells of.
func TestWithoutEntities(t *testing.T) {
	rows := tracetest.Synthetic(2_000)
	rows.Events = nil
	decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{})
	if got := len(drawn(decoded.Slices, "callback")); got != len(rows.Callbacks) || summary.Flows == 0 {
		t.Errorf("%d callbacks of %d, %+v", got, len(rows.Callbacks), summary)
	}
}

// A dataset may hold anything; the trace is one that Perfetto takes all the same.
func TestArbitraryRows(t *testing.T) {
	for seed := range uint64(5) {
		export(t, tracetest.RandomBatch(500, seed), analyze.Filter{}, perfetto.Options{TaskStates: true})
	}
}

type failingWriter struct{ left int }

var errFull = errors.New("full")

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// The first error of the output ends the export.
func TestTheOutputFails(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Synthetic(20_000)
	tracetest.AddSegment(t, dir, 0, rows.Callbacks)
	tracetest.AddSession(t, dir, trace.NewSession())
	d := tracetest.Open(t, dir)
	for _, left := range []int{0, 300_000} {
		q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := perfetto.Write(t.Context(), &failingWriter{left}, d, q, perfetto.Options{Compression: perfetto.Uncompressed}); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
}

// However many times off the CPU a damaged dataset has of a thread at once, each has a track of its own soon.
func TestManyAtOnce(t *testing.T) {
	const times = 200_000
	rows := system()
	for i := range int64(times) {
		rows.Scheds = append(rows.Scheds, off(1, 10+i, 0, 10+times+i, 1, 1))
	}
	_, summary := export(t, rows, analyze.Filter{}, perfetto.Options{})
	if summary.TimesOffCPU != times {
		t.Errorf("%+v", summary)
	}
}
