package recording

import (
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestRecordingsSideBySide records the same processes several times at once, with other profiles, links and stores,
// while one recording ends and another recorder is killed. Each recording has what happened, once.
func TestRecordingsSideBySide(t *testing.T) {
	requireRecording(t)
	for _, distro := range []string{standin.Humble, standin.Jazzy} {
		t.Run(distro, func(t *testing.T) {
			prefix := uniqueName("beside_" + distro)
			n := startReadyNode(t, layout{distro, standin.CycloneDDS}, "--rate 100 --threads 2 --nodes 2 --prefix "+prefix)
			whole := record(t, session.Configuration{PIDs: n.pidText()})
			byName := record(t, session.Configuration{Name: prefix})
			short := record(t, session.Configuration{PIDs: n.pidText(), Profile: probes.ProfileMinimal})
			killed := startRecorder(t, session.Configuration{PIDs: n.pidText(), Raw: true})
			killed.waitUntilOpen()
			ring := record(t, session.Configuration{PIDs: n.pidText(), RingAge: time.Minute})
			for _, r := range []*recording{whole, byName, short, ring} {
				r.waitForMoreRows(trace.TableCallback, enough)
			}
			killed.kill()
			minimal := short.stop()
			for _, r := range []*recording{whole, byName, ring} {
				r.waitForMoreRows(trace.TableCallback, enough)
			}
			made, err := ring.handle.Snapshot(t.Context(), session.SnapshotRequest{Reason: "a test"})
			if err != nil {
				t.Fatal(err)
			}
			ring.cancel()
			if err := <-ring.done; err != nil {
				t.Error(err)
			}
			all, named := whole.stop(), byName.stop()
			truth := n.stop()
			whole.requireExact(all, truth, oracle.Circumstances{Found: true})
			requireExactProcess(t, named, truth, byName.span(named, truth.Header.PID), oracle.Circumstances{Found: true})
			requireSnapshot(t, made.Path, truth)
			if minimal.Session.Rows[trace.TableCallback] < enough || len(minimal.Lost()) > 0 {
				t.Errorf("the recording that ended has %v, lost %v", minimal.Session.Rows, minimal.Lost())
			}
		})
	}
}
