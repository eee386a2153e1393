package recording

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// around is how long before and after an instant callbacks and publishes of stand-ins may begin and end of which the
// snapshot has a part.
const around = uint64(50 * time.Millisecond)

// requireSnapshot requires that a snapshot has everything of a process that happened in its time span, and nothing
// else.
func requireSnapshot(t *testing.T, dir string, truth *oracle.Truth) *trace.Snapshot {
	t.Helper()
	data := oracle.ReadDataset(t, dir)
	of := data.Session.Snapshot
	if of == nil || data.Session.Ending != trace.EndingSnapshot {
		t.Fatalf("%s is no snapshot: %+v", dir, data.Session)
	}
	offset := data.Session.Clock.RealtimeOffset
	from, to := uint64(max(of.First, of.HeldFrom)-offset), uint64(of.Last-offset)
	since := from - around
	if of.HeldFrom > of.First { // what happened before is there in part
		since = 0
	}
	part := oracle.Span{OpenFrom: since, OpenTo: from + around, CloseFrom: to - around, CloseTo: to + around}
	requireExactProcess(t, data, truth, part, oracle.Circumstances{Found: true, Part: true})
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	outside := 0
	err = trace.Scan(t.Context(), d, trace.TableCallback, func(rows []trace.Callback) error {
		for _, row := range rows {
			begin := row.CallbackStartTimestamp.Value
			for _, fed := range []trace.Optional[int64]{row.RMWTakeTimestamp, row.DequeueTimestamp} {
				if fed.Valid {
					begin = min(begin, fed.Value) // the message was taken, and the callback may not have started yet
				}
			}
			if begin > of.Last || row.CallbackEndTimestamp.Valid && row.CallbackEndTimestamp.Value < of.First {
				outside++
			}
		}
		return nil
	})
	if err != nil || outside > 0 {
		t.Errorf("%d callbacks lie outside, %v", outside, err)
	}
	return of
}

// snapshotsIn returns the datasets in a directory whose names have an ending.
func snapshotsIn(t *testing.T, dir, ending string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*-"+ending))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRing keeps the last seconds in memory. What snapshots hold is what happened in their time, to the row, whether it
// is still in memory or not; nothing else is written.
func TestRing(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--threads 2 --rate 100")
	r := record(t, session.Configuration{PIDs: n.pidText(), RingAge: 2 * time.Second})
	time.Sleep(5500 * time.Millisecond) // longer than is kept
	last, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Lately: time.Second, Name: "last", Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	all, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Path: filepath.Join(t.TempDir(), "all"), Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	copied := time.Since(asked) // in which more was removed
	if _, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Path: all.Path}); !errors.Is(err, writer.ErrExists) {
		t.Errorf("over another snapshot: %v", err)
	}
	if _, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Span: trace.Span{First: time.Now().Add(time.Hour).UnixNano()}}); !errors.Is(err, session.ErrSpan) {
		t.Errorf("of the future: %v", err)
	}
	r.cancel()
	if err := <-r.done; err != nil {
		t.Fatal(err)
	}
	truth := n.stop()
	if of := requireSnapshot(t, last.Path, truth); of.HeldFrom >= of.First || of.Last-of.First < time.Second.Nanoseconds() {
		t.Errorf("%+v", of)
	}
	if of := requireSnapshot(t, all.Path, truth); of.First != 0 || of.Last-of.HeldFrom < (2*time.Second-copied).Nanoseconds() || of.Last-of.HeldFrom > 4*time.Second.Nanoseconds() {
		t.Errorf("%v are held", time.Duration(of.Last-of.HeldFrom))
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries beside the snapshot, %v", len(entries)-1, err)
	}
}

// TestRingWithMinFree: --min-free does not end a recording in memory, it refuses snapshots that leave less.
func TestRingWithMinFree(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 100")
	r := record(t, session.Configuration{PIDs: n.pidText(), RingAge: time.Minute, MinFreeBytes: 1 << 60})
	r.waitForRows(trace.TableCallback, enough)
	_, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Reason: "a test"})
	if !errors.Is(err, writer.ErrDiskFull) || !strings.Contains(err.Error(), "has to leave") {
		t.Errorf("a snapshot that leaves too little: %v", err)
	}
	r.waitForMoreRows(trace.TableCallback, enough)
	r.cancel()
	if err := <-r.done; err != nil {
		t.Errorf("the recording ended with %v", err)
	}
	n.stop()
	if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
		t.Errorf("of the snapshot is left %v, %v", left, err)
	}
}

// TestRetention: a recording on disk keeps the last seconds, and says so, also if it takes as long to end: with tracefs
// it is many times 80 ms.
func TestRetention(t *testing.T) {
	requireRecording(t)
	for name, tracefs := range map[string]bool{"as the kernel can": false, "tracefs": true} {
		t.Run(name, func(t *testing.T) { keepLastSeconds(t, tracefs) })
	}
}

func keepLastSeconds(t *testing.T, tracefs bool) {
	t.Helper()
	n := startReadyNode(t, oneLayout, "--rate 50")
	r := record(t, session.Configuration{PIDs: n.pidText(), ForceTracefs: tracefs, KeepAge: time.Second, SegmentPeriod: 500 * time.Millisecond})
	time.Sleep(5 * time.Second)
	data := r.stop()
	truth := n.stop()
	removed := data.Session.Removed
	if removed == nil || removed.Rows[trace.TableCallback] == 0 {
		t.Fatalf("nothing was removed: %+v", data.Session.Removed)
	}
	from := uint64(removed.Until - data.Session.Clock.RealtimeOffset)
	part := oracle.Span{OpenFrom: r.began, OpenTo: from, CloseFrom: r.closing, CloseTo: r.ended}
	requireExactProcess(t, data, truth, part, oracle.Circumstances{Found: true, Part: true})
	if kept := time.Duration(int64(r.closing - from)); kept < 800*time.Millisecond || kept > 4*time.Second {
		t.Errorf("%v are kept", kept)
	}
	// The last second of a recording that is over is in what it keeps.
	if got := data.Session.Rows[trace.TableCallback]; got == 0 || int(got) != len(data.Callbacks) {
		t.Errorf("session.json has %d callbacks, there are %d", got, len(data.Callbacks))
	}
}

// TestTriggers: a slow callback, a topic that falls silent, a process that ends and a request each make a snapshot that
// holds the seconds before and after, and only these. What else comes meanwhile is counted.
func TestTriggers(t *testing.T) {
	requireRecording(t)
	for _, ring := range []bool{true, false} {
		name := "on disk"
		if ring {
			name = "in memory"
		}
		t.Run(name, func(t *testing.T) {
			n := startReadyNode(t, oneLayout, "--rate 100")
			other := startReadyNode(t, oneLayout, "--rate 100 --nodes 3") // of which the third has a topic of its own
			configuration := session.Configuration{PIDs: n.pidText() + "," + other.pidText(), Triggers: []string{
				"callback over=1ns name=long before=1s after=500ms cooldown=1h",
				"silent over=1s topic=/n2/ name=silent before=2s after=300ms cooldown=1h",
				"exit before=1s after=300ms",
				"manual name=request before=1s after=0s cooldown=0s do=snapshot",
				"callback over=1h name=never",
			}}
			if ring {
				configuration.RingAge = 10 * time.Second
			}
			r := record(t, configuration)
			r.waitForMessage("trigger long: a callback of", "snapshot in")
			time.Sleep(2 * time.Second)
			for range 2 {
				if err := r.handle.Fire("request", "by hand"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err := r.handle.Fire("none", ""); !errors.Is(err, session.ErrNoTrigger) {
				t.Errorf("one that there is not: %v", err)
			}
			other.Signal(syscall.SIGKILL)
			r.waitForMessage("trigger exit: PID", "snapshot in")
			r.waitForMessage("trigger silent: nothing was published on", "snapshot in")
			for _, count := range r.handle.Triggers() {
				wanted := uint64(1)
				if count.Name == "request" {
					wanted = 2
				}
				if count.Name == "never" {
					wanted = 0
				}
				if count.Fired != wanted || (count.Suppressed > 0) != (count.Name == "long") {
					t.Errorf("%+v", count)
				}
			}
			r.cancel()
			if err := <-r.done; err != nil {
				t.Fatal(err)
			}
			truth := n.stop()
			place := func(name string) []string {
				if ring {
					return snapshotsIn(t, r.dir, name)
				}
				return snapshotsIn(t, filepath.Dir(r.dir), name)
			}
			for name, before := range map[string]time.Duration{"long": time.Second, "silent": 2 * time.Second, "exit": time.Second} {
				found := place(name)
				if len(found) != 1 {
					t.Errorf("%d snapshots of %s", len(found), name)
					continue
				}
				of := requireSnapshot(t, found[0], truth)
				if of.Trigger == nil || of.Trigger.Name != name || of.Trigger.Timestamp-of.First != before.Nanoseconds() || !strings.Contains(of.Reason, "trigger "+name) {
					t.Errorf("%s: %+v", name, of)
				}
				if hasRow := len(of.Trigger.Row) > 0; hasRow != (name != "silent") {
					t.Errorf("%s: the row is %s", name, of.Trigger.Row)
				}
			}
			if got := len(place("request")) + len(place("request-2")); got != 2 {
				t.Errorf("%d snapshots at requests", got)
			}
			if ring {
				return
			}
			data := oracle.ReadDataset(t, r.dir)
			if len(data.Session.Triggers) != 5 || data.Session.Triggers[0].Fired != 1 || data.Session.Triggers[0].Suppressed == 0 {
				t.Errorf("session.json has %+v", data.Session.Triggers)
			}
		})
	}
}

// TestTriggerAtTheEnd: what is pending when a recording ends is done before it does, with what there is.
func TestTriggerAtTheEnd(t *testing.T) {
	requireRecording(t)
	n := startReadyNode(t, oneLayout, "--rate 100")
	r := record(t, session.Configuration{PIDs: n.pidText(), RingAge: 10 * time.Second, Triggers: []string{
		"callback over=1ns name=first before=1s after=1h cooldown=1h do=snapshot,stop",
	}})
	r.waitForMoreRows(trace.TableCallback, 50)
	r.cancel()
	if err := <-r.done; err != nil {
		t.Fatal(err)
	}
	found := snapshotsIn(t, r.dir, "first")
	if len(found) != 1 {
		t.Fatalf("%d snapshots", len(found))
	}
	requireSnapshot(t, found[0], n.stop())
}

// TestTriggersDoNotLeak: any number of snapshots leaves no descriptor behind, nor memory.
func TestTriggersDoNotLeak(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	n := startReadyNode(t, layout{standin.Jazzy, standin.CycloneDDS}, "--rate 10")
	r := record(t, session.Configuration{PIDs: n.pidText(), RingAge: 2 * time.Second, Triggers: []string{
		"manual name=hand before=100ms after=0s cooldown=0s per-day=100000",
	}})
	r.waitForMoreRows(trace.TableCallback, 5)
	made := func(count int) {
		for range count {
			fired := r.handle.Triggers()[0].Fired
			if err := r.handle.Fire("hand", "again"); err != nil || r.handle.Triggers()[0].Fired != fired+1 {
				t.Fatalf("%v, fired %d times before", err, fired)
			}
			for len(snapshotsIn(t, r.dir, "hand*")) == 0 {
				time.Sleep(time.Millisecond)
			}
			for _, dir := range snapshotsIn(t, r.dir, "hand*") {
				if _, err := r.handle.Snapshot(t.Context(), session.SnapshotRequest{Path: dir}); !errors.Is(err, writer.ErrExists) { // it waits for the other
					t.Fatal(err)
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	memory := func() int64 {
		debug.FreeOSMemory() // what is garbage is no leak
		bytes, err := memoryOf(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	made(20)
	before, memoryBefore := open(), memory()
	times := often(60, 1000)
	made(times)
	tried(t, times)
	after, memoryAfter := open(), memory()
	t.Logf("%d descriptors and %d MiB, before there were %d and %d", after, memoryAfter>>20, before, memoryBefore>>20)
	if after > before+5 {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
	if isSoak() && memoryAfter > memoryBefore+memoryBefore/4 {
		t.Errorf("%d bytes are in memory, before there were %d", memoryAfter, memoryBefore)
	}
	r.cancel()
	if err := <-r.done; err != nil {
		t.Fatal(err)
	}
	n.stop()
}
