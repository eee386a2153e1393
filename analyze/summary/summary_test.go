package summary_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func TestSummarize(t *testing.T) {
	dir := t.TempDir()
	talker := trace.ProcessKey{BootID: "b", PID: 10, ProcessStart: 1}
	listener := trace.ProcessKey{BootID: "b", PID: 20, ProcessStart: 2}
	tracetest.AddSegment(t, dir, 0, []trace.Callback{
		callback(talker, 0x100, 1_000, 1_010, trace.CallbackComplete),
		callback(talker, 0x100, 2_000, 2_030, trace.CallbackComplete),
		callback(listener, 0x100, 2_500, 2_600, trace.CallbackComplete),
		{ProcessKey: talker, Callback: 0x100, CallbackStartTimestamp: trace.Some(int64(3_000)), Status: trace.CallbackRecordingEnd},
	})
	tracetest.AddSegment(t, dir, 1, []trace.Callback{func() trace.Callback {
		c := callback(listener, 0x200, 2_700, 2_701, trace.CallbackComplete)
		c.TopicName, c.Message, c.NodeName, c.Kind = "/chatter", 0x9, "/listener", trace.KindSubscription
		return c
	}()})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{
		{ProcessKey: talker, Callback: 0x100, Kind: trace.KindTimer, NodeName: "/talker", Symbol: "tick()", Period: trace.Some(int64(0))},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Publish{
		{ProcessKey: talker, TopicName: "/chatter", NodeName: "/talker", RclcppPublishTimestamp: trace.Some(int64(1_000_000_000)), Status: trace.PublishComplete},
		{ProcessKey: talker, TopicName: "/chatter", NodeName: "/talker", RclcppPublishTimestamp: trace.Some(int64(1_500_000_000)), Status: trace.PublishComplete},
		{ProcessKey: talker, TopicName: "/chatter", NodeName: "/talker", RclPublishTimestamp: trace.Some(int64(2_000_000_000)), Status: trace.PublishNoLastLayer},
		{ProcessKey: talker, Status: trace.PublishComplete},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Take{
		{ProcessKey: listener, Kind: trace.TakeRMW, TopicName: "/chatter", NodeName: "/listener"},
		{ProcessKey: listener, Kind: trace.TakeIgnored, TopicName: "/chatter", NodeName: "/listener"},
		{ProcessKey: listener, Kind: trace.TakeIgnored, TopicName: "/chatter", NodeName: "/listener"},
		{ProcessKey: listener, Kind: trace.TakeUnattributed, TopicName: "/chatter", NodeName: "/listener"},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Enqueue{{ProcessKey: talker, EnqueueTimestamp: 5_000}})
	tracetest.AddSegment(t, dir, 0, []trace.Process{{ProcessKey: talker, Command: "talker"}})
	tracetest.AddSegment(t, dir, 0, []trace.Loss{
		{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 3, FromTimestamp: 1, ToTimestamp: 2},
		{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 4, FromTimestamp: 3, ToTimestamp: 4},
		{Kind: trace.LostCallback, Reason: trace.LossMapFull, Count: 1, FromTimestamp: 7, ToTimestamp: 8},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Clock{
		{MonotonicTimestamp: 1_000_000_000, RealtimeOffset: 1_000_000_000_000}, {MonotonicTimestamp: 2_000_000_000, RealtimeOffset: 999_950_000_000, Synchronized: trace.Some(false), MaxError: trace.Some(int64(16e9))},
		{MonotonicTimestamp: 3_000_000_000, RealtimeOffset: 999_950_400_000, Synchronized: trace.Some(true), MaxError: trace.Some(int64(1_234_567))}, // slewed
	})
	s := trace.NewSession()
	s.Ending = trace.EndingDuration
	s.Warnings = []string{"what the user was told"}
	s.Plan.Missing = []trace.MissingEvent{{Event: "construct_executor", Reason: "no such symbol"}}
	s.Unresolved = []string{"PID 10: 0x5: not proven"}
	tracetest.AddSession(t, dir, s)

	got, err := summary.Of(t.Context(), tracetest.Open(t, dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "span", got.Span, trace.Some(trace.Span{First: 1_000, Last: 2_000_000_000}))
	same(t, "processes", got.Processes, []summary.Process{
		{ProcessKey: talker, Number: 10, Command: "talker", Callbacks: 3, Publishes: 4, Enqueues: 1},
		{ProcessKey: listener, Number: 20, Callbacks: 2, Takes: 4},
	})
	same(t, "callbacks", got.Callbacks, []summary.Callback{
		{PID: 20, Callback: 0x100, Count: 1, TotalTime: 100, MeanTime: trace.Some(int64(100)), MaxTime: 100, Timed: 1},
		{PID: 10, Callback: 0x100, Kind: trace.KindTimer, NodeName: "/talker", Symbol: "tick()", Period: trace.Some(int64(0)), Rate: trace.Some(1e6),
			Count: 3, TotalTime: 40, MeanTime: trace.Some(int64(20)), MaxTime: 30, Timed: 2},
		{PID: 20, Callback: 0x200, NodeName: "/listener", Kind: trace.KindSubscription, Topic: "/chatter", Count: 1, TotalTime: 1, MeanTime: trace.Some(int64(1)), MaxTime: 1, Timed: 1},
	})
	for i := range got.Nodes {
		got.Nodes[i].CallbackRate, got.Nodes[i].PublishRate = trace.Optional[float64]{}, trace.Optional[float64]{}
	}
	same(t, "nodes", got.Nodes, []summary.Node{
		{PID: 10, Publishes: 1},
		{PID: 20, Callbacks: 1, TotalTime: 100},
		{PID: 20, NodeName: "/listener", Callbacks: 1, TotalTime: 1, Takes: 1, IgnoredTakes: 2, UnattributedTakes: 1},
		{PID: 10, NodeName: "/talker", Callbacks: 3, TotalTime: 40, Publishes: 3},
	})
	same(t, "topics", got.Topics, []summary.Topic{
		{TopicName: "/chatter", Publishes: 3, Rate: trace.Some(2.0), Received: 2}, {Publishes: 1},
	})
	same(t, "losses", got.Losses, []summary.Loss{
		{Kind: trace.LostCallback, Reason: trace.LossMapFull, Count: 1, FromTimestamp: 7, ToTimestamp: 8},
		{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 7, FromTimestamp: 1, ToTimestamp: 4},
	})
	same(t, "incomplete", got.Incomplete, []summary.Status{
		{Table: trace.TableCallback, Status: "recording_end", Count: 1}, {Table: trace.TablePublish, Status: "no_last_layer", Count: 1},
	})
	same(t, "tracepoints", got.Tracepoints, []summary.Tracepoint{
		{Tracepoint: "callback_start", Table: trace.TableCallback, Count: 5}, {Tracepoint: "callback_end", Table: trace.TableCallback, Count: 4},
		{Tracepoint: "rclcpp_publish", Table: trace.TablePublish, Count: 2}, {Tracepoint: "rcl_publish", Table: trace.TablePublish, Count: 1},
		{Tracepoint: "rclcpp_ring_buffer_enqueue", Table: trace.TableEnqueue, Count: 1},
	})
	same(t, "clock steps", got.ClockSteps, []summary.ClockStep{{Timestamp: 1_002_000_000_000, Nanoseconds: -50_000_000}})
	same(t, "real time", got.RealTime, summary.RealTime{Asked: 2, Synchronized: 1, MaxError: trace.Some(int64(1_234_567))})
	table := got.Tables[slices.IndexFunc(got.Tables, func(s summary.Table) bool { return s.Name == trace.TableCallback })]
	if table.Rows != 5 || table.Segments != 2 || table.Bytes == 0 {
		t.Errorf("table %+v", table)
	}
	for _, want := range []string{"8 records were lost", "1 callback rows are incomplete: recording_end", "what the user was told",
		"1 events could not be observed, such as construct_executor (no such symbol)", "1 addresses stay without a name", "real time jumped by -50ms",
		"1 callbacks are known by their addresses only; 1 executions are theirs",
	} {
		if !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning %q in %q", want, got.Warnings)
		}
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"kind":"timer","topic_name":""`; !strings.Contains(string(text), want) {
		t.Errorf("JSON has no %s:\n%s", want, text)
	}
}

func callback(process trace.ProcessKey, address trace.Address, start, end int64, status trace.CallbackStatus) trace.Callback {
	return trace.Callback{ProcessKey: process, Callback: address, CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(end), Status: status}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n%+v, want\n%+v", what, got, want)
	}
}

func TestSummaryWarnsOfDamage(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Callback](100, 1))
	cut := tracetest.AddSegment(t, dir, 1, tracetest.Random[trace.Callback](100, 2))
	if err := os.Truncate(cut, 1000); err != nil {
		t.Fatal(err)
	}
	tracetest.AddSession(t, dir, trace.NewSession())
	if err := os.WriteFile(filepath.Join(dir, trace.TableCallback, ".00000002.parquet.tmp"), []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := summary.Of(t.Context(), tracetest.Open(t, dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Killed || got.Tables[0].Rows != 100 || got.Tables[0].Unfinished != 1 {
		t.Errorf("killed %v, tables %+v", got.Killed, got.Tables)
	}
	count := func(part string) (n int) {
		for _, w := range got.Warnings {
			if strings.Contains(w, part) {
				n++
			}
		}
		return n
	}
	if len(got.Damaged) != 1 {
		t.Errorf("damaged %q", got.Damaged)
	}
	if count("did not end properly") != 1 || count(cut) != 1 {
		t.Errorf("warnings %q", got.Warnings)
	}
}

// Two callbacks that had one address, one after the other, are two.
func TestSummaryKeepsTheLivesOfAnAddressApart(t *testing.T) {
	dir := t.TempDir()
	robot := trace.ProcessKey{BootID: "boot", PID: 100, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{
		{ProcessKey: robot, Callback: 0x100, Symbol: "first()", NodeName: "/a", EndTimestamp: trace.Some(int64(500))},
		{ProcessKey: robot, Callback: 0x100, Symbol: "second()", NodeName: "/b", InitTimestamp: trace.Some(int64(600))},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Callback{
		callback(robot, 0x100, 100, 110, trace.CallbackComplete), callback(robot, 0x100, 200, 210, trace.CallbackComplete),
		callback(robot, 0x100, 700, 701, trace.CallbackComplete),
	})
	tracetest.AddSession(t, dir, trace.NewSession())
	got, err := summary.Of(t.Context(), tracetest.Open(t, dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Callbacks) != 2 || got.Callbacks[0].Symbol != "first()" || got.Callbacks[0].Count != 2 || got.Callbacks[1].Symbol != "second()" || got.Callbacks[1].Count != 1 {
		t.Errorf("callbacks %+v", got.Callbacks)
	}
}

// What is polled while its subscription is not known yet counts for the topic that the subscription turned out to be
// of.
func TestPollsWithoutTopicCount(t *testing.T) {
	dir := t.TempDir()
	robot := trace.ProcessKey{BootID: "boot", PID: 100, ProcessStart: 1}
	tracetest.AddSegment(t, dir, 0, []trace.Node{{ProcessKey: robot, NodeHandle: 1, NodeName: "n", Namespace: "/"}})
	tracetest.AddSegment(t, dir, 0, []trace.Subscription{
		{ProcessKey: robot, SubscriptionHandle: 0x10, NodeHandle: 1, TopicName: "/first", EndTimestamp: trace.Some(int64(500))},
		{ProcessKey: robot, SubscriptionHandle: 0x10, NodeHandle: 1, TopicName: "/second", InitTimestamp: trace.Some(int64(600)), Buffer: 0x20},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Take{
		{ProcessKey: robot, Kind: trace.TakeRMW, SubscriptionHandle: 0x10, RMWTakeTimestamp: trace.Some(int64(100))},
		{ProcessKey: robot, Kind: trace.TakeRMW, SubscriptionHandle: 0x10, RMWTakeTimestamp: trace.Some(int64(700))},
		{ProcessKey: robot, Kind: trace.TakeDequeue, Buffer: 0x20, DequeueTimestamp: trace.Some(int64(800))},
		{ProcessKey: robot, Kind: trace.TakeRMW, TopicName: "/second", NodeName: "/n", SubscriptionHandle: 0x10, RMWTakeTimestamp: trace.Some(int64(900))},
		{ProcessKey: robot, Kind: trace.TakeRMW, SubscriptionHandle: 0x99, RMWTakeTimestamp: trace.Some(int64(900))},
		{ProcessKey: robot, Kind: trace.TakeIgnored, SubscriptionHandle: 0x10, RMWTakeTimestamp: trace.Some(int64(900))},
	})
	tracetest.AddSession(t, dir, trace.NewSession())
	got, err := summary.Of(t.Context(), tracetest.Open(t, dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "topics", got.Topics, []summary.Topic{{TopicName: "/first", Received: 1}, {TopicName: "/second", Received: 3}})
	none := trace.Some(0.0)
	same(t, "nodes", got.Nodes, []summary.Node{
		{PID: 100, CallbackRate: none, PublishRate: none, Takes: 1}, {PID: 100, NodeName: "/n", CallbackRate: none, PublishRate: none, Takes: 4, IgnoredTakes: 1},
	})
}

func TestSummarizeEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Callback](3000, 1))
	tracetest.AddSession(t, dir, trace.NewSession())
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := summary.Of(ctx, tracetest.Open(t, dir), func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// What the recorder had stored, and somebody has taken away since, is not passed over in silence.
func TestRowsThatAreNotThereAnyMore(t *testing.T) {
	const warning = "rows that were recorded are not there any more"
	for name, test := range map[string]struct {
		stored uint64
		ending trace.Ending
		told   bool
	}{
		"all are there":           {2, trace.EndingDuration, false},
		"a segment is gone":       {5, trace.EndingDuration, true},
		"the recorder was killed": {5, trace.EndingRunning, false}, // which is told in other words
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			key := trace.ProcessKey{BootID: "b", PID: 10, ProcessStart: 1}
			tracetest.AddSegment(t, dir, 0, []trace.Callback{
				callback(key, 0x100, 1_000, 1_010, trace.CallbackComplete), callback(key, 0x100, 2_000, 2_030, trace.CallbackComplete),
			})
			s := trace.NewSession()
			s.Ending = test.ending
			s.Rows = map[string]uint64{trace.TableCallback: test.stored}
			tracetest.AddSession(t, dir, s)
			got, err := summary.Of(t.Context(), tracetest.Open(t, dir), nil)
			if err != nil {
				t.Fatal(err)
			}
			if told := slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, warning) }); told != test.told {
				t.Errorf("%q", got.Warnings)
			}
		})
	}
}
