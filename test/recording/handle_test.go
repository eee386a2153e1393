package recording

import (
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// callbacksUntil reads the callbacks of a dataset that ended before an instant of the ground truth's clock.
func callbacksUntil(t *testing.T, dir string, until uint64) map[trace.Callback]bool {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(until) + d.Session().Clock.RealtimeOffset
	rows := map[trace.Callback]bool{}
	err = trace.Scan(t.Context(), d, trace.TableCallback, func(callbacks []trace.Callback) error {
		for _, c := range callbacks {
			if end := c.CallbackEndTimestamp; end.Valid && end.Value < at {
				rows[c] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestFlush: what had ended before the call is in closed segments when it returns, every time, and a recording that was
// stopped through its handle is as whole as any other.
func TestFlush(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--threads 2 --rate 200")
	r := record(t, session.Configuration{PIDs: n.pidText()})
	type flushed struct {
		at   uint64
		rows map[trace.Callback]bool
	}
	var flushes []flushed
	for range 5 {
		r.waitForMoreRows(trace.TableCallback, 20)
		at := monotonic()
		if err := r.handle.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		flushes = append(flushes, flushed{at, callbacksUntil(t, r.dir, at)})
	}
	if status := r.handle.Status(); status.State != trace.StateRecording || status.Rows[trace.TableCallback] == 0 {
		t.Errorf("the status is %+v", status)
	}
	r.closing = monotonic()
	r.handle.Stop()
	r.handle.Stop() // nothing more happens
	data := r.wait()
	requireEnding(t, data, trace.EndingRequest)
	r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	for i, f := range flushes {
		want := callbacksUntil(t, r.dir, f.at)
		for c := range want {
			if !f.rows[c] {
				t.Errorf("flush %d lacks %+v", i, c)
			}
		}
		if len(f.rows) != len(want) || len(want) == 0 {
			t.Errorf("flush %d: %d callbacks, in the end there are %d", i, len(f.rows), len(want))
		}
	}
	if err := r.handle.Flush(t.Context()); !errors.Is(err, session.ErrOver) {
		t.Errorf("after the end: %v", err)
	}
}
