package recording

import (
	"os"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// tracefsVariable allows tests to use the kernel's trace events, which other tools on the machine may be using as well.
// Kernels without uprobe_multi use them in all tests anyway.
const tracefsVariable = "CARET_BPF_TEST_TRACEFS"

func requireTracefs(t *testing.T) {
	t.Helper()
	if os.Getenv(tracefsVariable) == "" {
		t.Skipf("set %s=1 to attach through tracefs although the kernel may not need it", tracefsVariable)
	}
}

// TestForcedTracefs attaches as on kernels without uprobe_multi.
func TestForcedTracefs(t *testing.T) {
	requireTracefs(t)
	forEachLayout(t, func(t *testing.T, l layout) {
		for _, name := range []string{"threads", "nested"} {
			t.Run(name, func(t *testing.T) {
				n := startReadyNode(t, l, behaviours[name])
				r := record(t, session.Configuration{PIDs: n.pidText(), ForceTracefs: true})
				r.waitForRows(trace.TableCallback, enough)
				data := r.stop()
				r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
			})
		}
		t.Run("by name", func(t *testing.T) {
			n := startReadyNode(t, l, "--rate 50 --prefix /tracefs")
			r := record(t, session.Configuration{Name: "/tracefs", ForceTracefs: true})
			r.waitForRows(trace.TableCallback, enough)
			data := r.stop()
			r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
		})
		t.Run("killed", func(t *testing.T) {
			n := startReadyNode(t, l, busy)
			for i := range 4 {
				recorder := startRecorder(t, session.Configuration{PIDs: n.pidText(), ForceTracefs: true})
				if i > 0 {
					recorder.waitUntilOpen()
				}
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				recorder.kill()
				waitForOwnText(t, n.PID())
			}
			n.stop()
		})
	})
}
