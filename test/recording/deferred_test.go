package recording

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// recordLater begins a recording that waits for its start, and returns when everything is attached. opened is closed
// when it has begun.
func recordLater(t *testing.T, configuration session.Configuration) (r *recording, opened chan struct{}) {
	t.Helper()
	armed := make(chan *session.Handle, 1)
	configuration.DeferredStart = true
	r, opened = begin(t, configuration, func(o *session.Options) {
		o.Observer.Armed = func(h *session.Handle) { armed <- h }
	})
	select {
	case r.handle = <-armed:
	case err := <-r.done:
		t.Fatalf("the recording ended before it was armed: %v", err)
	case <-time.After(patience):
		t.Fatal("the recording is not armed")
	}
	return r, opened
}

// TestDeferredStart: nothing is recorded before the start, and everything from then on.
func TestDeferredStart(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--threads 2 --rate 200")
	r, opened := recordLater(t, session.Configuration{PIDs: n.pidText()})
	r.waitFor("a status", func(s session.Status) bool { return s.State == trace.StateArmed })
	if err := r.handle.Flush(t.Context()); !errors.Is(err, session.ErrNotStarted) {
		t.Errorf("a flush before the start: %v", err)
	}
	if rows := r.handle.Status().Rows[trace.TableCallback]; rows != 0 {
		t.Errorf("%d callbacks were recorded before the start", rows)
	}
	if err := r.handle.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-opened
	if err := r.handle.Start(t.Context()); err != nil {
		t.Errorf("a second start: %v", err)
	}
	r.waitForRows(trace.TableCallback, enough)
	data := r.stop()
	r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
}

// TestNoStart: a recording that is given up before its start leaves nothing.
func TestNoStart(t *testing.T) {
	requireRecording(t)
	for name, test := range map[string]struct {
		end  func(n *node, r *recording)
		want error
	}{
		"stopped":           {func(_ *node, r *recording) { r.handle.Stop() }, session.ErrNotBegun},
		"interrupted":       {func(_ *node, r *recording) { r.cancel() }, session.ErrNotBegun},
		"without processes": {func(n *node, _ *recording) { n.stop() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := startReadyNode(t, oneLayout, "--rate 50")
			r, _ := recordLater(t, session.Configuration{PIDs: n.pidText()})
			test.end(n, r)
			select {
			case err := <-r.done:
				if err == nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(patience):
				t.Fatal("it does not end")
			}
			if _, err := os.Stat(r.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the dataset is still there: %v", err)
			}
			if err := r.handle.Start(t.Context()); !errors.Is(err, session.ErrOver) {
				t.Errorf("a start after the end: %v", err)
			}
		})
	}
}
