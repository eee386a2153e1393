package recording

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// callbackKey is what a callback and its row of when it was open have in common.
type callbackKey struct {
	process  trace.ProcessKey
	tid      int32
	start    int64
	callback trace.Address
	depth    int32
}

func keyOf(c *trace.Callback) callbackKey {
	return callbackKey{c.ProcessKey, c.TID, c.CallbackStartTimestamp.Value, c.Callback, c.Depth}
}

func keyOfOpen(c *trace.OpenCallback) callbackKey {
	return callbackKey{c.ProcessKey, c.TID, c.CallbackStartTimestamp, c.Callback, c.Depth}
}

// callbacksOnDisk reads the callbacks of a dataset, and those that were open.
func callbacksOnDisk(t *testing.T, dir string) (ended map[callbackKey]trace.Callback, open map[callbackKey]trace.OpenCallback) {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var batch trace.Batch
	for _, table := range []string{trace.TableCallback, trace.TableOpenCallback} {
		if err := trace.TableByName(table).Read(t.Context(), d, &batch); err != nil {
			t.Fatal(err)
		}
	}
	ended, open = map[callbackKey]trace.Callback{}, map[callbackKey]trace.OpenCallback{}
	for _, c := range batch.Callbacks {
		ended[keyOf(&c)] = c
	}
	for _, c := range batch.OpenCallbacks {
		open[keyOfOpen(&c)] = c // the last one
	}
	return ended, open
}

// TestOpenCallbacks: when a flush returns, each callback that began before the call is on disk, also one that has not
// ended; when it ends, its own row has the same key.
func TestOpenCallbacks(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--threads 2 --rate 200 --payload 1000000 --nested-depth 3 --nested-rate 50")
	r := record(t, session.Configuration{PIDs: n.pidText()})
	r.waitForRows(trace.TableCallback, 20)
	type flushed struct {
		at    uint64 // before the call
		ended map[callbackKey]trace.Callback
		open  map[callbackKey]trace.OpenCallback
	}
	var flushes []flushed
	flush := func() map[callbackKey]trace.OpenCallback {
		f := flushed{at: monotonic()}
		if err := r.handle.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.ended, f.open = callbacksOnDisk(t, r.dir)
		flushes = append(flushes, f)
		return f.open
	}
	for range 20 {
		flush()
	}
	// One that does not go on for as long as its process is stopped.
	stopped := 0
	var snapshot session.Snapshot
	for attempt := 0; attempt < 200 && stopped == 0; attempt++ {
		n.Signal(syscall.SIGSTOP)
		flush()
		open := flush() // what was under way at the signal has happened
		for key := range flushes[len(flushes)-1].ended {
			delete(open, key)
		}
		if stopped = len(open); stopped > 0 {
			var err error
			if snapshot, err = r.handle.Snapshot(t.Context(), session.SnapshotRequest{Path: filepath.Join(t.TempDir(), "snapshot")}); err != nil {
				t.Error(err)
			}
		}
		n.Signal(syscall.SIGCONT)
		r.waitForMoreRows(trace.TableCallback, 1)
	}
	if stopped == 0 {
		t.Error("no callback was stopped")
	}
	if snapshot.Rows[trace.TableOpenCallback] == 0 {
		t.Errorf("the snapshot has %v", snapshot.Rows)
	}
	data := r.stop()
	n.stop()
	ended, open := callbacksOnDisk(t, r.dir)
	t.Logf("%d flushes, %d callbacks, %d of them seen open", len(flushes), len(ended), len(open))
	for key, c := range open {
		after, ok := ended[key]
		if !ok || after.CallbackEndTimestamp.Valid && after.CallbackEndTimestamp.Value < c.SeenTimestamp || c.SeenTimestamp < key.start {
			t.Errorf("%+v is seen open, and in the end %+v", c, after)
		}
		if ok && (after.TopicName != c.TopicName || after.NodeName != c.NodeName || after.Symbol != c.Symbol || after.SubscriptionHandle != c.SubscriptionHandle) {
			t.Errorf("%+v becomes %+v", c, after)
		}
	}
	for i, f := range flushes {
		at := int64(f.at) + data.Session.Clock.RealtimeOffset
		for key := range ended {
			_, wasEnded := f.ended[key]
			_, wasOpen := f.open[key]
			if key.start != 0 && key.start < at && !wasEnded && !wasOpen {
				t.Errorf("flush %d lacks %+v", i, key)
			}
		}
	}
}
