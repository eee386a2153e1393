package recording

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestStopWhenGone: a recording by name that is to stop when its processes are gone waits for the first one, goes on as
// long as one is left, and then ends with all that they did.
func TestStopWhenGone(t *testing.T) {
	requireRecording(t)
	prefix := uniqueName("gone")
	start := func() *node { return startReadyNode(t, oneLayout, "--rate 200 --nodes 1 --prefix "+prefix) }
	await := func(r *recording, processes int) {
		t.Helper()
		for range 2 { // a status may be older than what was done last
			r.waitFor("a status", func(session.Status) bool { return true })
		}
		r.waitFor("so many processes", func(s session.Status) bool { return s.Processes == processes })
	}
	t.Run("none at first", func(t *testing.T) {
		r := record(t, session.Configuration{Name: prefix, StopWhenGone: true})
		await(r, 0)
		n := start()
		r.waitForRows(trace.TableCallback, enough/4)
		n.stop()
		data := r.wait()
		requireEnding(t, data, trace.EndingTargetsExited)
		requireExited(t, data, n.PID(), true)
	})
	t.Run("one after the other", func(t *testing.T) {
		first := start()
		r := record(t, session.Configuration{Name: prefix, StopWhenGone: true})
		r.waitForRows(trace.TableCallback, enough/2)
		second := start()
		await(r, 2)
		truth := first.stop()
		await(r, 1)
		r.waitForMoreRows(trace.TableCallback, enough/4)
		second.stop()
		data := r.wait()
		requireEnding(t, data, trace.EndingTargetsExited)
		requireExactProcess(t, data, truth, r.span(data, truth.Header.PID), oracle.Circumstances{Found: true})
		requireExited(t, data, second.PID(), true)
	})
}
