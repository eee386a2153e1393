package recording

import (
	"fmt"
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

// TestRecordingsOfDifferentProcesses records processes that map the same libraries, each by a recording of its own,
// with other profiles and links, while the recorder of one is killed. Each of the others has what happened in its own
// process, once, and nothing of another one.
func TestRecordingsOfDifferentProcesses(t *testing.T) {
	forEachDistro(t, func(t *testing.T, l layout) {
		type beside struct {
			n *node
			r *recording
		}
		const flags = "--rate 100 --threads 2 --nodes 2 --polled-rate 20 --throw-every 31 --prefix "
		prefix := uniqueName("apart_" + l.distro)
		recorded := map[probes.Profile]*beside{}
		for _, profile := range probes.Profiles() {
			recorded[profile] = &beside{n: startReadyNode(t, l, fmt.Sprint(flags, prefix, "_", profile, "_"))}
		}
		orphan := startReadyNode(t, l, flags+prefix+"_orphan")
		killed := startRecorder(t, session.Configuration{PIDs: orphan.pidText(), Profile: probes.ProfileFull, SegmentPeriod: time.Second})
		for profile, of := range recorded {
			configuration := session.Configuration{PIDs: of.n.pidText(), Profile: profile}
			if profile == probes.ProfileStandard {
				configuration.PIDs, configuration.Name = "", fmt.Sprint(prefix, "_", profile, "_")
			}
			of.r = record(t, configuration)
		}
		killed.waitUntilOpen()
		waitForSegments(t, killed.dir, 1)
		for _, of := range recorded {
			of.r.waitForMoreRows(trace.TableCallback, enough)
		}
		killed.kill()
		requireReadable(t, killed.dir)
		for _, of := range recorded {
			of.r.waitForMoreRows(trace.TableCallback, enough)
		}
		for profile, of := range recorded {
			data, truth := of.r.stop(), of.n.stop()
			if profile == probes.ProfileMinimal {
				truth.ReduceToMinimal()
			}
			of.r.requireExact(data, truth, oracle.Circumstances{Found: true})
			for _, row := range data.Processes {
				if int(row.PID) != of.n.PID() {
					t.Errorf("%s has a row of PID %d, and is of PID %d alone", profile, row.PID, of.n.PID())
				}
			}
		}
		waitForOwnText(t, orphan.PID())
		orphan.stop()
	})
}
