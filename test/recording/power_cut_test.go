package recording

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// TestPowerCut cuts the power of the disk at random moments, while segments are closed all the time. The recording ends
// with an error, the target is as it was and misses nothing. When the disk is back, each closed segment is whole, and
// what was flushed is there to the row.
func TestPowerCut(t *testing.T) {
	requireRecording(t)
	requireLong(t)
	disk := newDiskWithPower(t)
	for range often(1, 33) { // each with a node of its own, whose ground truth stays small
		cutPower(t, disk, 3)
	}
}

// cutPower cuts the power so many times beside one node.
func cutPower(t *testing.T, disk *disk, times int) {
	t.Helper()
	n := startReadyNode(t, oneLayout, busy)
	var cuts []*powerCut
	segments := 0
	for range times {
		c := recordUntilPowerCut(t, disk, n)
		segments += requireWholeSegments(t, c.recording.dir)
		c.requireFlushed(t)
		c.data = oracle.ReadDataset(t, c.recording.dir)
		cuts = append(cuts, c)
		if t.Failed() {
			t.FailNow()
		}
		if err := os.RemoveAll(c.recording.dir); err != nil {
			t.Fatal(err)
		}
	}
	truth := n.stop()
	callbacks := uint64(0)
	for _, c := range cuts {
		span := oracle.Span{OpenFrom: c.recording.began, OpenTo: c.recording.opened, CloseFrom: c.flushedAt, CloseTo: c.recording.ended}
		if first, ok := c.data.FirstRow(n.PID()); ok {
			span.OpenTo = min(span.OpenTo, first)
		}
		callbacks += oracle.RequireExact(t, c.data, truth, span, oracle.Circumstances{Found: true, Torn: true}).Compared[trace.LostCallback]
	}
	if callbacks == 0 {
		t.Error("nothing was ever recorded")
	}
	tried(t, len(cuts))
	t.Logf("%d closed segments, %d callbacks that had been flushed", segments, callbacks)
}

// powerCut is a recording that lost its disk.
type powerCut struct {
	recording *recording
	flushedAt uint64          // the last flush was asked for, on the ground truth's clock
	flushed   []string        // paths of segments that flushes have left
	data      *oracle.Dataset // what was there afterwards
}

// recordUntilPowerCut records to a disk, and flushes again and again until the disk's power is cut.
func recordUntilPowerCut(t *testing.T, disk *disk, n *node) *powerCut {
	t.Helper()
	r := record(t, session.Configuration{PIDs: n.pidText(), Output: filepath.Join(disk.path, "recording")})
	r.waitForRows(trace.TableCallback, 1)
	c := &powerCut{recording: r}
	if err := c.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		for {
			if err := c.flush(t.Context()); err != nil {
				failed <- err
				return
			}
		}
	}()
	time.Sleep(rand.N(500 * time.Millisecond))
	if err := disk.cut(); err != nil {
		t.Fatal(err)
	}
	if err := r.waitForEnd(); !errors.Is(err, writer.ErrUnwritable) || !errors.Is(err, unix.EIO) {
		t.Errorf("the recording ended with %v", err)
	}
	if err := <-failed; !errors.Is(err, writer.ErrUnwritable) && !errors.Is(err, session.ErrOver) {
		t.Errorf("the last flush: %v", err)
	}
	requireOwnText(t, n.PID())
	disk.reopen(t)
	return c
}

// flush flushes and notes what is there then, if the power was not cut meanwhile.
func (c *powerCut) flush(ctx context.Context) error {
	at := monotonic()
	if err := c.recording.handle.Flush(ctx); err != nil {
		return err
	}
	c.flushedAt = at
	if paths, err := filepath.Glob(filepath.Join(c.recording.dir, "*", "[0-9]*.parquet")); err == nil && len(paths) > len(c.flushed) {
		c.flushed = paths
	}
	return nil
}

// requireFlushed requires that the segments are there that flushes had left.
func (c *powerCut) requireFlushed(t *testing.T) {
	t.Helper()
	for _, path := range c.flushed {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("it was flushed, and is gone: %v", err)
		}
	}
}

// requireWholeSegments requires that a dataset has nothing but what a recorder that was killed leaves, and that each
// closed segment has the rows that its footer counts. It returns how many there are.
func requireWholeSegments(t *testing.T, dir string) (count int) {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d.Session() == nil {
		t.Fatal(d.Warning())
	}
	if d.Session().Ending != trace.EndingRunning || !d.Killed() {
		t.Errorf("session.json: ending %q, killed %v", d.Session().Ending, d.Killed())
	}
	for _, table := range trace.Registry() {
		segments, _, err := d.Segments(table.Name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		rows := uint64(0)
		for _, segment := range segments {
			f, err := d.OpenSegment(segment)
			if err != nil {
				t.Error(err)
				continue
			}
			err = trace.ScanSegment(t.Context(), table, f, func(read trace.AnyRows) error {
				rows += uint64(read.Len())
				return nil
			})
			if err := errors.Join(err, f.Close()); err != nil {
				t.Errorf("%s: %v", table.Name, err)
			}
			count++
		}
		if counted, err := trace.Count(t.Context(), d, table.Name); err != nil || rows != counted {
			t.Errorf("%s: %d rows were read, the footers count %d, %v", table.Name, rows, counted, err)
		}
	}
	requireOnlyKnownFiles(t, dir)
	return count
}

// requireOnlyKnownFiles requires that each file is session.json, a closed segment or a temporary one.
func requireOnlyKnownFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch isHidden := strings.HasPrefix(name, "."); {
		case err != nil || entry.IsDir():
		case name == trace.SessionFile, name == ".reserve":
		case isHidden && filepath.Ext(name) == ".tmp", !isHidden && filepath.Ext(name) == ".parquet":
		default:
			t.Errorf("there is %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
