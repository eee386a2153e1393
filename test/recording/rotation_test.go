package recording

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// waitForRowsSince waits until a table has so many rows, without those that a rotation has moved before the call. A
// status may be older than that, and another one on its way.
func (r *recording) waitForRowsSince(table string, count uint64) {
	r.t.Helper()
	for range 2 {
		r.waitFor("a status", func(session.Status) bool { return true })
	}
	r.waitForRows(table, count)
}

// TestRotation: what was recorded before a rotation is in a dataset of its own, and what came later in the recording.
// Together they have each row once.
func TestRotation(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--threads 2 --rate 200 --intra-process --chain --polled-rate 50")
	folder := t.TempDir()
	r := record(t, session.Configuration{PIDs: n.pidText(), Output: filepath.Join(folder, "rec"), Triggers: []string{"manual name=cut do=rotate"}})
	r.waitForMoreRows(trace.TableCallback, enough)
	first, err := r.handle.Rotate(t.Context(), session.RotationRequest{Path: filepath.Join(folder, "first"), Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := filepath.Glob(filepath.Join(r.dir, trace.TableCallback, "*.parquet"))
	if err != nil || len(rest) > 0 && filepath.Base(rest[0]) == "00000000.parquet" {
		t.Errorf("the recording still has %v, %v", rest, err)
	}
	r.waitForRowsSince(trace.TableCallback, enough)
	if err := r.handle.Fire("cut", "a test"); err != nil {
		t.Fatal(err)
	}
	r.waitForMessage("what was recorded so far is in")
	second := snapshotsIn(t, folder, "cut")
	if len(second) != 1 {
		t.Fatalf("the trigger has made %v", second)
	}
	r.waitForRowsSince(trace.TableCallback, enough)
	data := r.stop()
	counts := []uint64{first.Rows[trace.TableCallback], 0, data.Session.Rows[trace.TableCallback]}
	whole := *data
	for i, dir := range slices.Backward([]string{first.Path, second[0]}) {
		part := oracle.ReadDataset(t, dir)
		if part.Session.Ending != trace.EndingSnapshot || part.Session.Snapshot == nil || len(part.Nodes) == 0 || len(part.Callbacks) < enough {
			t.Errorf("%s has %d nodes and %d callbacks: %+v", dir, len(part.Nodes), len(part.Callbacks), part.Session.Snapshot)
		}
		counts[i] = uint64(len(part.Callbacks))
		whole.Callbacks = append(part.Callbacks, whole.Callbacks...)
		whole.Publishes = append(part.Publishes, whole.Publishes...)
		whole.Takes = append(part.Takes, whole.Takes...)
		whole.Enqueues = append(part.Enqueues, whole.Enqueues...)
	}
	r.requireExact(&whole, n.stop(), oracle.Circumstances{Found: true})
	if slices.Min(counts) < enough {
		t.Errorf("the parts have %v callbacks", counts)
	}
	removed := data.Session.Removed
	if removed == nil || removed.Rows[trace.TableCallback] != counts[0]+counts[1] || len(data.Session.Changes) != 2 {
		t.Errorf("session.json tells of %+v and %v; %v callbacks were moved", removed, data.Session.Changes, counts[:2])
	}
	if _, err := r.handle.Rotate(t.Context(), session.RotationRequest{}); err == nil {
		t.Error("what has ended is rotated")
	}
	if info, err := os.Stat(filepath.Join(first.Path, trace.SessionFile)); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v", err)
	}
}
