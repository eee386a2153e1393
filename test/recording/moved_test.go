package recording

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestCallbackMovesToAnotherCPU compares where callbacks begin and end: of nested ones and services that defer their
// response, of generic subscriptions, and of some that throw.
func TestCallbackMovesToAnotherCPU(t *testing.T) {
	requireTwoCPUs(t)
	const flags = "--move-every 3 --threads 2 --rate 50 --nested-depth 3 --nested-rate 20 --service-rate 20 --deferred-service-rate 20 " +
		"--serialized-rate 20 --throw-every 31"
	forEachLayout(t, func(t *testing.T, l layout) {
		n := startReadyNode(t, l, flags)
		r := record(t, session.Configuration{PIDs: n.pidText()})
		r.waitForRows(trace.TableCallback, 4*enough)
		data := r.stop()
		r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
		moved := 0
		for _, row := range data.Callbacks {
			if row.EndCPU.Valid && row.EndCPU.Value != row.CPU {
				moved++
			}
		}
		if moved < enough/5 {
			t.Errorf("of %d callbacks %d have moved", len(data.Callbacks), moved)
		}
	})
}

// requireTwoCPUs skips a test where there is nowhere to move to.
func requireTwoCPUs(t *testing.T) {
	t.Helper()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	if allowed.Count() < 2 {
		t.Skip("a callback can move to another CPU only where there are two")
	}
}
