package analyze_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// questions are those that a query answers of a system without paths; what the answers are does not matter.
func questions(ctx context.Context, q *analyze.Query) []func() error {
	return []func() error{
		func() error { _, err := q.CallbackLatency(ctx, nil); return err },
		func() error {
			_, err := q.CallbackDelays(ctx, func([]analyze.DelayedExecution) error { return nil })
			if errors.Is(err, analyze.ErrNoTimesOffCPU) {
				return nil
			}
			return err
		},
		func() error {
			_, err := q.CallbackOffCPU(ctx, func([]analyze.TimeOffCPU) error { return nil })
			if errors.Is(err, analyze.ErrNoTimesOffCPU) {
				return nil
			}
			return err
		},
		func() error {
			_, err := q.CallbackParts(ctx, func([]analyze.PartedExecution) error { return nil })
			if errors.Is(err, analyze.ErrNoScheduling) {
				return nil
			}
			return err
		},
		func() error {
			_, err := q.CommunicationLatency(ctx, func([]analyze.CommunicationInstance) error { return nil })
			return err
		},
		func() error {
			_, err := q.NodeLatency(ctx, analyze.LinkOptions{Latest: true}, func([]analyze.NodeInstance) error { return nil })
			return err
		},
		func() error { _, err := q.ServiceLatency(ctx, nil); return err },
		func() error { _, err := q.Periods(ctx, analyze.Callbacks, false, nil); return err },
		func() error {
			_, err := q.Frequencies(ctx, analyze.Topics, false, analyze.Intervals{Length: 1_000_000_000}, nil)
			return err
		},
		func() error { _, err := q.Loads(ctx, 1_000_000_000, nil); return err },
		func() error { _, _, err := q.TimeSpan(ctx); return err },
		func() error { return q.Timeline(ctx, func(*analyze.TimelineWindow) error { return nil }) },
		func() error {
			return q.ThreadStates(ctx, func([]analyze.ThreadState, int64) error { return nil })
		},
		func() error { return q.Executions(ctx, func([]analyze.DetailedExecution) error { return nil }) },
		func() error {
			return q.Detailed(ctx, analyze.LinkOptions{}, analyze.Details{
				Messages: func([]analyze.DetailedMessage) error { return nil }, Nodes: func([]analyze.NodeInstance) error { return nil },
			})
		},
		func() error { return q.Losses(ctx, func([]trace.Loss) error { return nil }) },
		func() error { return q.Transitions(ctx, func([]trace.Lifecycle) error { return nil }) },
		func() error { return q.TimesOffCPU(ctx, func([]trace.Sched) error { return nil }) },
		func() error { return q.Waits(ctx, func([]trace.Wait) error { return nil }) },
		func() error { return q.SimTimes(ctx, func([]trace.SimTime) error { return nil }) },
		func() error {
			_, err := q.Clocks(ctx, func([]analyze.ClockBounds) error { return nil })
			if errors.Is(err, analyze.ErrNothingSelected) {
				return nil
			}
			return err
		},
		func() error { return q.AlignClocks(ctx, analyze.ClockOptions{ByMessages: true}) },
		func() error { _, err := q.CommunicationLatency(ctx, nil); return err },
	}
}

// askAll asks every question and returns the first error.
func askAll(t testing.TB, d ...*trace.Dataset) error {
	t.Helper()
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d...)
	if err != nil {
		return err
	}
	for _, ask := range questions(t.Context(), q) {
		if err := ask(); err != nil {
			return err
		}
	}
	return nil
}

func TestEmptyDataset(t *testing.T) {
	if err := askAll(t, newRecording(t).write()); err != nil {
		t.Error(err)
	}
}

// What is readable is read, and a warning says what is not.
func TestDamagedSegment(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer := s.timer(n, 100)
	s.runs(n, timer, 100, 110)
	d := s.write()
	broken := tracetest.AddSegment(t, s.dir, 1, s.rows.Callbacks)
	content, err := os.ReadFile(broken)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][]byte{"cut": content[:len(content)/2], "foreign": []byte("not a Parquet file at all"), "empty": nil, "no footer": content[:len(content)-4]} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(broken, change, 0o644); err != nil {
				t.Fatal(err)
			}
			q := newQuery(t, analyze.Filter{}, d)
			results, err := q.CallbackLatency(t.Context(), nil)
			if err != nil || len(results) != 1 || results[0].Count != 1 {
				t.Errorf("got %+v, %v", results, err)
			}
			if len(q.Damaged) != 1 || q.Damaged[0].Path != broken {
				t.Errorf("damaged are %v", q.Damaged)
			}
			if len(q.Warnings) != 1 || !strings.Contains(q.Warnings[0], filepath.Base(broken)) {
				t.Errorf("the warnings are %q", q.Warnings)
			}
		})
	}
}

// A dataset that is still being written has an unfinished segment, and records that were lost are told of.
func TestUnfinishedDataset(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	s.runs(n, s.timer(n, 100), 100, 110)
	s.rows.Losses = []trace.Loss{
		{Kind: trace.LostCallback, Reason: trace.LossRingFull, Count: 7},
		{Kind: trace.LostSched, Reason: trace.LossMissed, Count: 2},
		{Kind: trace.LostSched, Reason: trace.LossMissed, Count: 3},
	}
	d := s.write()
	if err := os.WriteFile(filepath.Join(s.dir, trace.TableCallback, ".00000001.parquet.tmp"), []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	q := newQuery(t, analyze.Filter{}, d)
	results, err := q.CallbackLatency(t.Context(), nil)
	if err != nil || len(results) != 1 || results[0].Count != 1 {
		t.Errorf("got %+v, %v", results, err)
	}
	if len(q.Warnings) != 2 || !strings.Contains(q.Warnings[0], "7 records were lost") || !strings.Contains(q.Warnings[1], "5 records of kind sched were lost") {
		t.Errorf("the warnings are %q", q.Warnings)
	}
}

// An older recorder wrote one of the segments: columns are missing that later ones have, the publisher's gid among
// them.
func TestSegmentsOfTwoVersions(t *testing.T) {
	type olderCallback struct {
		BootID       string `parquet:"boot_id"`
		PID          int32  `parquet:"pid"`
		ProcessStart int64  `parquet:"process_start"`
		TID          int32  `parquet:"tid"`
		CPU          int32  `parquet:"cpu"`
		Callback     uint64 `parquet:"callback"`
		Start        int64  `parquet:"callback_start_timestamp"`
		End          int64  `parquet:"callback_end_timestamp"`
		Status       string `parquet:"status"`
		Depth        int32  `parquet:"depth"`
		Source       int64  `parquet:"source_timestamp"`
		Provenance   string `parquet:"provenance"`
	}
	s := newRecording(t)
	pub := s.publisher(s.node("/talker"), "/chatter", "aa")
	sub := s.subscription(s.node("/listener"), "/chatter")
	s.publishes(pub, 100, 105, 0, 0)
	s.publishes(pub, 200, 205, 0, 0)
	s.receives(sub, "aa", 205, 230, 240)
	d := s.write()
	older := []olderCallback{{
		BootID: s.key.BootID, PID: s.key.PID, ProcessStart: s.key.ProcessStart, Callback: uint64(sub.callback), Start: 120, End: 121,
		Status: string(trace.CallbackComplete), Source: 105, Provenance: string(trace.FromTracepoint),
	}}
	if err := parquet.WriteFile(filepath.Join(s.dir, trace.TableCallback, "00000001.parquet"), older); err != nil {
		t.Fatal(err)
	}
	q := newQuery(t, analyze.Filter{}, d)
	wantLines(t, communicationOf(t, q), "0100 /talker>/listener 20 received topic", "0200 /talker>/listener 30 received gid")
	if err := askAll(t, d); err != nil || len(q.Warnings) > 0 {
		t.Errorf("%v, warnings %q", err, q.Warnings)
	}
}

// Rows of any content, as of other versions or of a broken recorder, make no question fail.
func TestRandomRows(t *testing.T) {
	for seed := range uint64(5) {
		s := newRecording(t)
		dir := s.write().Dir()
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Callback](300, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Publish](300, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Take](300, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Enqueue](300, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Service](300, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Node](20, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Publisher](50, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Subscription](50, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.Timer](50, seed))
		tracetest.AddSegment(t, dir, 0, tracetest.Random[trace.CallbackInfo](50, seed))
		d, err := trace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := askAll(t, d); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
