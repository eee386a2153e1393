package recording

import (
	"bytes"
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/perfetto"
	"github.com/caret-bpf/caret-bpf/export/perfetto/perfettotest"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestPerfettoTakesRecordings makes traces of recordings of nested and unwound callbacks, of several threads and of
// intra-process communication. Every row is drawn, callbacks nest as they ran, and each message that was received has a
// flow.
func TestPerfettoTakesRecordings(t *testing.T) {
	requireLong(t)
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		if l != oneLayout {
			t.Skip("another layout tells the same")
		}
		forEachBehaviour(t, []string{"nested", "nested_catch", "too_deep", "threads", "intra_shared", "polled", "churn_exit"}, func(t *testing.T, name string) {
			n, r := recordFromTheBeginning(t, l, session.Configuration{}, behaviours[name])
			r.waitForRows(trace.TableCallback, enough)
			n.stop()
			r.wait()
			d, err := trace.Open(r.dir)
			if err != nil {
				t.Fatal(err)
			}
			checkPerfetto(t, d)
		})
	})
}

// perfettoOf makes a trace of a dataset and reads it.
func perfettoOf(t *testing.T, d *trace.Dataset, options perfetto.Options) (*analyze.Query, perfetto.Summary, *perfettotest.Trace) {
	t.Helper()
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	summary, err := perfetto.Write(t.Context(), &out, d, q, options)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := perfettotest.Decode(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(decoded.CheckTimesOffCPU(), decoded.CheckTasks()); err != nil {
		t.Error(err)
	}
	return q, summary, decoded
}

// requireTimesDrawn requires that a trace has each time off the CPU, and what went before each callback of which that
// is known.
func requireTimesDrawn(t *testing.T, dir string) {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	q, summary, decoded := perfettoOf(t, d, perfetto.Options{Compression: perfetto.Zstd, TaskStates: true})
	if rows, err := trace.Count(t.Context(), d, trace.TableSched); err != nil || rows != summary.TimesOffCPU {
		t.Errorf("%d of %d times off the CPU are drawn: %v", summary.TimesOffCPU, rows, err)
	}
	known, drawn := 0, 0
	_, err = q.CallbackDelays(t.Context(), func(delayed []analyze.DelayedExecution) error {
		known += len(delayed)
		return nil
	})
	for _, s := range decoded.Slices {
		if _, is := s.Arguments["before.latency_ns"]; is {
			drawn++
		}
	}
	if err != nil || known == 0 || drawn != known {
		t.Errorf("of %d callbacks it is drawn what went before, of %d it is known: %v", drawn, known, err)
	}
	requireTasksDrawn(t, d, decoded)
}

// requireTasksDrawn compares the states of threads with the rows: each time off the CPU is there, and threads run for
// as long as the callbacks say, of nearly all of which it is known.
func requireTasksDrawn(t *testing.T, d *trace.Dataset, decoded *perfettotest.Trace) {
	t.Helper()
	type thread struct {
		tid int64
		at  int64
	}
	begins, running := make(map[thread]uint64), make(map[int64][]*perfettotest.TaskState)
	for _, s := range decoded.Tasks {
		begins[thread{s.TID, s.From}] = s.State
		if s.State == perfettotest.StateRunning {
			running[s.TID] = append(running[s.TID], s)
		}
	}
	times, missing := 0, 0
	err := trace.Scan(t.Context(), d, trace.TableSched, func(rows []trace.Sched) error {
		for _, row := range rows {
			if row.SchedOutTimestamp == row.SchedInTimestamp {
				continue
			}
			times++
			out, back := begins[thread{int64(row.TID), row.SchedOutTimestamp}], begins[thread{int64(row.TID), row.SchedInTimestamp}]
			if out != perfettotest.StateRunnable && (out != perfettotest.StateSleeping || row.Kind != trace.SchedBlocked) || back != perfettotest.StateRunning {
				missing++
			}
		}
		return nil
	})
	if err != nil || times == 0 || missing > times/1000 {
		t.Errorf("of %d times off the CPU %d are no states of their threads: %v", times, missing, err)
	}
	known, drawn := 0, 0
	err = trace.Scan(t.Context(), d, trace.TableCallback, func(rows []trace.Callback) error {
		for _, row := range rows {
			if !row.CPUTime.Valid || row.Depth > 0 {
				continue
			}
			known++
			onCPU := int64(0)
			for _, s := range running[int64(row.TID)] {
				onCPU += max(0, min(s.Until, row.CallbackEndTimestamp.Value)-max(s.From, row.CallbackStartTimestamp.Value))
			}
			if onCPU == row.CPUTime.Value {
				drawn++
			} else if onCPU > row.CPUTime.Value {
				t.Errorf("thread %d runs for %d ns in a callback that was %d ns on a CPU", row.TID, onCPU, row.CPUTime.Value)
			}
		}
		return nil
	})
	if err != nil || drawn < known*9/10 || drawn == 0 {
		t.Errorf("threads run in %d callbacks of the %d of which it is known: %v", drawn, known, err)
	}
	t.Logf("of %d times off the CPU all but %d are states of their threads, which run in %d callbacks of %d", times, missing, drawn, known)
}

func checkPerfetto(t *testing.T, d *trace.Dataset) {
	q, summary, decoded := perfettoOf(t, d, perfetto.Options{Compression: perfetto.Zstd})
	for _, table := range []struct {
		name  string
		drawn uint64
	}{{trace.TableCallback, summary.Callbacks}, {trace.TablePublish, summary.Publishes}} {
		if rows, err := trace.Count(t.Context(), d, table.name); err != nil || rows != table.drawn {
			t.Errorf("%d of %d rows of %s are drawn: %v", table.drawn, rows, table.name, err)
		}
	}
	received := 0
	_, err := q.CommunicationLatency(t.Context(), func(messages []analyze.CommunicationInstance) error {
		for i := range messages {
			if messages[i].Fate == analyze.Received {
				received++
			}
		}
		return nil
	})
	if err != nil || len(decoded.Flows) != received || summary.Overlapping > 0 {
		t.Errorf("%d flows of %d received messages, %d callbacks overlap: %v", len(decoded.Flows), received, summary.Overlapping, err)
	}
	t.Logf("%+v", summary)
}
