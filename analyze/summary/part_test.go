package summary_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// A summary of all the time is that of the dataset, and those of two parts of the time add up to it.
func TestSummarizePart(t *testing.T) {
	dir := t.TempDir()
	rows := tracetest.Synthetic(20_000)
	tracetest.AddSegment(t, dir, 0, rows.Callbacks)
	tracetest.AddSegment(t, dir, 0, rows.Publishes)
	tracetest.AddSegment(t, dir, 0, rows.Takes)
	tracetest.AddSegment(t, dir, 0, rows.Enqueues)
	tracetest.AddSegment(t, dir, 0, rows.Events)
	d := tracetest.Open(t, dir)
	all := summarizeWithin(t, d, trace.Optional[trace.Span]{})
	span := all.Span.Value
	whole := summarizeWithin(t, d, all.Span)
	whole.Within = all.Within
	same(t, "a summary of all the time", whole, all)

	middle := span.First + span.Nanoseconds()/3
	early := summarizeWithin(t, d, trace.Some(trace.Span{First: span.First, Last: middle}))
	late := summarizeWithin(t, d, trace.Some(trace.Span{First: middle + 1, Last: span.Last}))
	total, earlier, later := countsOf(all), countsOf(early), countsOf(late)
	for what, count := range total {
		if earlier[what] == 0 || later[what] == 0 || earlier[what]+later[what] != count {
			t.Errorf("%s: %d and %d, together %d are expected", what, earlier[what], later[what], count)
		}
	}
	for _, c := range rows.Callbacks {
		if c.CallbackStartTimestamp.Value <= middle {
			earlier["callbacks"]--
		}
	}
	if earlier["callbacks"] != 0 {
		t.Errorf("%d callbacks too many", int64(earlier["callbacks"]))
	}
	none := summarizeWithin(t, d, trace.Some(trace.Span{First: span.Last + 1, Last: span.Last + 2}))
	if counts := countsOf(none); len(counts) > 0 {
		t.Errorf("after the end: %v", counts)
	}
}

func summarizeWithin(t *testing.T, d *trace.Dataset, within trace.Optional[trace.Span]) *summary.Summary {
	t.Helper()
	part := func(trace.Span) (trace.Span, error) { return within.Value, nil }
	if !within.Valid {
		part = nil
	}
	s, err := summary.OfPart(t.Context(), d, part, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// countsOf returns what of a summary adds up, without what is 0.
func countsOf(s *summary.Summary) map[string]uint64 {
	counts := make(map[string]uint64)
	add := func(what string, count uint64) {
		if count > 0 {
			counts[what] += count
		}
	}
	for _, hit := range s.Tracepoints {
		add("hits of "+hit.Tracepoint, hit.Count)
	}
	for _, p := range s.Processes {
		add("callbacks", p.Callbacks)
		add("publishes", p.Publishes)
		add("takes", p.Takes)
		add("enqueues", p.Enqueues)
	}
	for _, n := range s.Nodes {
		add("callbacks of "+n.NodeName, n.Callbacks)
		add("time of "+n.NodeName, uint64(n.TotalTime))
	}
	for _, topic := range s.Topics {
		add("publishes of "+topic.TopicName, topic.Publishes)
		add("received of "+topic.TopicName, topic.Received)
	}
	return counts
}

// Losses, service steps and clock steps are restricted, too; a tracepoint that was probed and not hit is shown.
func TestSummarizePartOfTheRest(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.Service{{Step: trace.RequestSent, StepTimestamp: 100}, {Step: trace.RequestSent, StepTimestamp: 300}})
	tracetest.AddSegment(t, dir, 0, []trace.Loss{
		{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 3, FromTimestamp: 90, ToTimestamp: 110},
		{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 4, FromTimestamp: 290, ToTimestamp: 310},
	})
	tracetest.AddSegment(t, dir, 0, []trace.Clock{{MonotonicTimestamp: 0}, {MonotonicTimestamp: 400, RealtimeOffset: 1e9}})
	s := trace.NewSession()
	s.Plan.Sites = []trace.Site{{Event: "sim_time"}, {Event: "executor_execute"}, {Event: "rmw_publish"}}
	tracetest.AddSession(t, dir, s)
	if err := os.MkdirAll(filepath.Join(dir, trace.TableCallback), 0o755); err != nil {
		t.Fatal(err)
	}
	got := summarizeWithin(t, tracetest.Open(t, dir), trace.Some(trace.Span{First: 50, Last: 200}))
	same(t, "tracepoints", got.Tracepoints, []summary.Tracepoint{
		{Tracepoint: "dds_write", Table: trace.TablePublish}, {Tracepoint: "sim_time", Table: trace.TableSimTime}, {Tracepoint: string(trace.RequestSent), Table: trace.TableService, Count: 1},
	})
	same(t, "losses", got.Losses, []summary.Loss{{Kind: trace.LostTake, Reason: trace.LossRingFull, Count: 3, FromTimestamp: 90, ToTimestamp: 110}})
	if len(got.ClockSteps) != 0 {
		t.Errorf("clock steps %+v", got.ClockSteps)
	}
}

// A tracepoint that only one of two tables has is shown with that table only, whichever is read first.
func TestTracepointsOfTakesOnly(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.Take{{Kind: trace.TakeRMW, RMWTakeTimestamp: trace.Some(int64(100))}})
	tracetest.AddSegment(t, dir, 0, []trace.Callback{{CallbackStartTimestamp: trace.Some(int64(90)), CallbackEndTimestamp: trace.Some(int64(120))}})
	s := trace.NewSession()
	s.Plan.Sites = []trace.Site{{Event: "callback_start"}, {Event: "callback_end"}, {Event: "rmw_take"}}
	tracetest.AddSession(t, dir, s)
	same(t, "tracepoints", summarizeWithin(t, tracetest.Open(t, dir), trace.Optional[trace.Span]{}).Tracepoints, []summary.Tracepoint{
		{Tracepoint: "callback_start", Table: trace.TableCallback, Count: 1}, {Tracepoint: "callback_end", Table: trace.TableCallback, Count: 1},
		{Tracepoint: "rmw_take", Table: trace.TableTake, Count: 1},
	})
}
