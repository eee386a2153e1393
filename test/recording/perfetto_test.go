package recording

import (
	"bytes"
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
func perfettoOf(t *testing.T, d *trace.Dataset) (*analyze.Query, perfetto.Summary, *perfettotest.Trace) {
	t.Helper()
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	summary, err := perfetto.Write(t.Context(), &out, d, q, perfetto.Options{Compression: perfetto.Zstd})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := perfettotest.Decode(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := decoded.CheckTimesOffCPU(); err != nil {
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
	q, summary, decoded := perfettoOf(t, d)
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
}

func checkPerfetto(t *testing.T, d *trace.Dataset) {
	q, summary, decoded := perfettoOf(t, d)
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
