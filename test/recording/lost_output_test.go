package recording

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// TestOutputIsRemoved removes what is recorded, or a part of it, while the recording goes on. That ends with an error
// that names what is gone, of which nothing is made anew. What is left can be read. The target misses nothing.
func TestOutputIsRemoved(t *testing.T) {
	requireRecording(t)
	for name, removed := range map[string]string{"all": ".", "the folder of a table": trace.TableCallback} {
		t.Run(name, func(t *testing.T) {
			n := startReadyNode(t, oneLayout, busy)
			r := record(t, session.Configuration{PIDs: n.pidText(), SegmentPeriod: time.Second})
			waitForSegments(t, r.dir, 4)
			r.remove(filepath.Join(r.dir, removed))
			err := r.waitForEnd()
			if !errors.Is(err, writer.ErrUnwritable) {
				t.Fatalf("the recording ended with: %v", err)
			}
			if text := err.Error(); !strings.Contains(text, filepath.Join(r.dir, removed)) || !strings.Contains(text, "somebody has removed it") {
				t.Errorf("the recording ended with: %v", err)
			}
			if _, err := os.Stat(filepath.Join(r.dir, removed)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was removed is there again: %v", err)
			}
			requireOwnText(t, n.PID())
			n.stop()
			if removed == "." {
				return
			}
			data := oracle.ReadDataset(t, r.dir)
			requireEnding(t, data, trace.EndingError)
			if len(data.Publishes) == 0 || data.Session.Unstored[trace.TableCallback] == 0 || data.Session.Error != err.Error() {
				t.Errorf("%d publishes are left, not stored: %v, error %q", len(data.Publishes), data.Session.Unstored, data.Session.Error)
			}
		})
	}
}

// remove removes a directory into which the recorder may be writing.
func (r *recording) remove(dir string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		err := os.RemoveAll(dir)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatal(err)
		}
	}
}

// TestOutputIsMoved moves what is recorded, and makes another directory in its place, while the recording goes on. All
// of it is where it was moved to, as in any other recording, and nothing is written into the other directory.
func TestOutputIsMoved(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, busy)
	r := record(t, session.Configuration{PIDs: n.pidText(), SegmentPeriod: time.Second})
	waitForSegments(t, r.dir, 4)
	place := r.dir
	r.dir += "-moved"
	if err := errors.Join(os.Rename(place, r.dir), os.Mkdir(place, 0o755)); err != nil {
		t.Fatal(err)
	}
	r.waitForMoreRows(trace.TableCallback, 2*enough)
	made, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	data, truth := r.stop(), n.stop()
	r.requireExact(data, truth, oracle.Circumstances{Found: true})
	requireSnapshot(t, made.Path, truth)
	requireEnding(t, data, trace.EndingSignal)
	if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
		t.Errorf("in its former place there is %v, %v", entries, err)
	}
}

// TestPlaceOfSnapshotsIsRemoved removes the directory of snapshots of a recording in memory: the next one makes it
// anew.
func TestPlaceOfSnapshotsIsRemoved(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, busy)
	r := record(t, session.Configuration{PIDs: n.pidText(), RingAge: time.Minute})
	r.waitForRows(trace.TableCallback, enough)
	r.remove(r.dir)
	made, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	r.cancel()
	if err := r.waitForEnd(); err != nil {
		t.Error(err)
	}
	requireSnapshot(t, made.Path, n.stop())
}
