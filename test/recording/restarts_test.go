package recording

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestNodeRestarts starts a node again and again while it is recorded by name: of each time everything is there, from
// the first event to the last one.
func TestNodeRestarts(t *testing.T) {
	requireRecording(t)
	// Whose libraries are probed before they are mapped.
	t.Setenv("LD_LIBRARY_PATH", standin.Directory(t, oneLayout.distro, false))
	name := uniqueName("restarts")
	r := record(t, session.Configuration{Name: name}, func(o *session.Options) { o.Installed = t.TempDir() })
	var truths []*oracle.Truth
	for range restarts {
		n := startReadyNode(t, oneLayout, "--rate 50 --nodes 2 --threads 2 --service-rate 20 --prefix "+name)
		r.waitForMoreRows(trace.TableCallback, enough)
		truths = append(truths, n.stop())
	}
	data := r.stop()
	if data.Session.Unarmed != 0 {
		t.Errorf("%d files were mapped and not probed", data.Session.Unarmed)
	}
	whole := oracle.Span{OpenFrom: r.began, OpenTo: r.opened, CloseFrom: r.closing, CloseTo: r.ended}
	for _, truth := range truths {
		requireExactProcess(t, data, truth, whole, oracle.Circumstances{Unnamed: r.said("was cut short")})
		requireInitEvents(t, data, truth.Header.PID)
		requireExited(t, data, truth.Header.PID, true)
	}
	tried(t, restarts)
}
