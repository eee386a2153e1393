package trace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

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
		c.TopicName, c.Message = "/chatter", 0x9
		return c
	}()})
	tracetest.AddSegment(t, dir, 0, []trace.CallbackInfo{
		{ProcessKey: talker, Callback: 0x100, Kind: trace.KindTimer, NodeName: "/talker", Symbol: "tick()", Period: trace.Some(int64(0))},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Publish{
		{ProcessKey: talker, TopicName: "/chatter", RclcppPublishTimestamp: trace.Some(int64(1_000_000_000)), Status: trace.PublishComplete},
		{ProcessKey: talker, TopicName: "/chatter", RclcppPublishTimestamp: trace.Some(int64(1_500_000_000)), Status: trace.PublishComplete},
		{ProcessKey: talker, TopicName: "/chatter", RclPublishTimestamp: trace.Some(int64(2_000_000_000)), Status: trace.PublishNoLastLayer},
		{ProcessKey: talker, Status: trace.PublishComplete},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Take{{ProcessKey: listener, Kind: trace.TakeRMW, TopicName: "/chatter"}})
	tracetest.AddSegment(t, dir, 0, []trace.Enqueue{{ProcessKey: talker, EnqueueTimestamp: 5_000}})
	tracetest.AddSegment(t, dir, 0, []trace.Process{{ProcessKey: talker, Command: "talker"}})
	tracetest.AddSegment(t, dir, 0, []trace.Loss{
		{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 3}, {Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 4},
		{Kind: trace.LostCallback, Reason: trace.LossMapFull, Count: 1},
	})
	s := exampleSession()
	s.Ending = trace.EndingDuration
	tracetest.AddSession(t, dir, s)

	got, err := trace.Summarize(t.Context(), open(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "span", got.Span, trace.Some(trace.Span{First: 1_000, Last: 2_000_000_000}))
	same(t, "processes", got.Processes, []trace.ProcessSummary{
		{Process: trace.Process{ProcessKey: talker, Command: "talker"}, Callbacks: 3, Publishes: 4, Enqueues: 1},
		{Process: trace.Process{ProcessKey: listener}, Callbacks: 2, Takes: 1},
	})
	same(t, "callbacks", got.Callbacks, []trace.CallbackSummary{
		{Process: listener, Callback: 0x100, Count: 1, TotalTime: 100, MaxTime: 100, Timed: 1},
		{Process: talker, Callback: 0x100, Kind: trace.KindTimer, NodeName: "/talker", Symbol: "tick()", Period: trace.Some(int64(0)),
			Count: 3, TotalTime: 40, MaxTime: 30, Timed: 2},
		{Process: listener, Callback: 0x200, TopicName: "/chatter", Count: 1, TotalTime: 1, MaxTime: 1, Timed: 1},
	})
	same(t, "topics", got.Topics, []trace.TopicSummary{
		{TopicName: "/chatter", Publishes: 3, Rate: trace.Some(2.0), Received: 2}, {Publishes: 1},
	})
	same(t, "losses", got.Losses, []trace.LossTotal{
		{Kind: trace.LostCallback, Reason: trace.LossMapFull, Count: 1}, {Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 7},
	})
	same(t, "incomplete", got.Incomplete, []trace.StatusCount{
		{Table: trace.TableCallback, Status: "recording_end", Count: 1}, {Table: trace.TablePublish, Status: "no_last_layer", Count: 1},
	})
	table := got.Tables[slices.IndexFunc(got.Tables, func(s trace.TableSummary) bool { return s.Name == trace.TableCallback })]
	if table.Rows != 5 || table.Segments != 2 || table.Bytes == 0 {
		t.Errorf("table %+v", table)
	}
	for _, want := range []string{"8 records were lost", "1 callback rows are incomplete: recording_end", "w"} {
		if !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning %q in %q", want, got.Warnings)
		}
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"callback":"0x100","kind":"timer"`; !strings.Contains(string(text), want) {
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
	write(t, filepath.Join(dir, trace.TableCallback, ".00000002.parquet.tmp"), "PAR1")
	got, err := trace.Summarize(t.Context(), open(t, dir))
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
	if count("did not end properly") != 1 || count(cut) != 1 {
		t.Errorf("warnings %q", got.Warnings)
	}
}
