package writer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// Of rows that are of a moment, those are kept that retention asks for; those of entities stay.
func TestRetention(t *testing.T) {
	const periods, rowsEach = 10, 100
	second := time.Second.Nanoseconds()
	for name, test := range map[string]struct {
		retention writer.Retention
		kept      int
	}{
		"all":                     {writer.Retention{}, periods},
		"of three seconds":        {writer.Retention{Age: 3 * time.Second}, 4},
		"of two periods":          {writer.Retention{Periods: 2}, 3},
		"of a size without room":  {writer.Retention{Bytes: 1}, 0},
		"of a size with all room": {writer.Retention{Bytes: 1 << 30}, periods},
		"of the stricter of two":  {writer.Retention{Age: 5 * time.Second, Periods: 2}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Int64
			now.Store(1000 * second)
			path := filepath.Join(t.TempDir(), "recorded")
			w, err := writer.Create(path, writer.Options{Retention: test.retention, SegmentPeriod: time.Second, Now: now.Load})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteSession(trace.NewSession()); err != nil {
				t.Fatal(err)
			}
			for period := range periods {
				if period > 0 {
					now.Add(second)
				}
				batch := tracetest.BatchOf(tracetest.Random[trace.Callback](rowsEach, uint64(period)))
				batch.Nodes = []trace.Node{{NodeHandle: trace.Address(period + 1)}}
				if err := errors.Join(w.Write(batch), w.Flush(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			want := uint64(test.kept * rowsEach)
			if got := w.StoredRows(); got[trace.TableCallback] != want || got[trace.TableNode] != periods {
				t.Errorf("%v are stored, want %d callbacks", got, want)
			}
			if got := w.AcceptedRows(); got[trace.TableCallback] != want {
				t.Errorf("%v are counted", got)
			}
			if got := w.TakenRows(); got[trace.TableCallback] != periods*rowsEach {
				t.Errorf("%v were taken", got)
			}
			removed := w.Removed()
			until := int64(0)
			if gone := periods - test.kept; gone > 0 {
				until = (1000 + int64(gone) - 1) * second
			}
			if removed.Rows[trace.TableCallback] != periods*rowsEach-want || removed.Rows[trace.TableNode] != 0 || removed.Until != until {
				t.Errorf("%+v were removed, want until %d", removed, until)
			}
			d := tracetest.Open(t, path)
			if got, err := trace.Count(t.Context(), d, trace.TableCallback); err != nil || got != want {
				t.Errorf("%d callbacks are there, %v", got, err)
			}
			size := int64(0)
			for _, table := range []string{trace.TableCallback, trace.TableNode} {
				segments, _, err := d.Segments(table)
				if err != nil {
					t.Fatal(err)
				}
				for _, segment := range segments {
					size += segment.Bytes
				}
			}
			if got := w.WrittenBytes(); got != size {
				t.Errorf("it is said to have %d bytes and has %d", got, size)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Nothing is removed while somebody reads.
func TestHold(t *testing.T) {
	w, err := writer.Create(filepath.Join(t.TempDir(), "recorded"), writer.Options{Retention: writer.Retention{Bytes: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	write := func() uint64 {
		if err := errors.Join(w.Write(tracetest.BatchOf(tracetest.Random[trace.Callback](10, 1))), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		return w.StoredRows()[trace.TableCallback]
	}
	release := w.Hold()
	other := w.Hold()
	if got := write(); got != 10 {
		t.Errorf("%d rows are left while held", got)
	}
	release()
	release()
	if got := write(); got != 20 {
		t.Errorf("%d rows are left while held by another", got)
	}
	other()
	if got := write(); got != 0 {
		t.Errorf("%d rows are left", got)
	}
}

// Memory does not get full because somebody reads for long: then the oldest segments go nevertheless.
func TestMemoryBesideASlowReader(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a file system in memory takes CAP_SYS_ADMIN")
	}
	const kept = 1 << 20
	w, err := writer.Create("", writer.Options{Memory: 4 * kept, Retention: writer.Retention{Bytes: kept}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	release := w.Hold()
	for seed := range uint64(100) {
		if err := errors.Join(w.Write(tracetest.BatchOf(tracetest.Random[trace.Callback](1000, seed))), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if removed, size := w.Removed(), w.WrittenBytes(); removed.Until == 0 || size < kept || size > 2*kept {
		t.Errorf("%d bytes are there, removed %+v", size, removed)
	}
	release()
	if err := errors.Join(w.Write(tracetest.BatchOf(tracetest.Random[trace.Callback](1, 1))), w.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if size := w.WrittenBytes(); size > kept {
		t.Errorf("%d bytes are there when nobody reads", size)
	}
}

// A dataset in memory can be read, has its bound, and is nowhere when it is closed.
func TestMemory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a file system in memory takes CAP_SYS_ADMIN")
	}
	const bound = 1 << 20
	w, err := writer.Create("", writer.Options{Memory: bound})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteSession(trace.NewSession()), w.Write(tracetest.BatchOf(tracetest.Random[trace.Callback](100, 1))), w.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	directory, err := w.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = directory.Close() }()
	d := tracetest.Open(t, fmt.Sprintf("/proc/self/fd/%d", directory.Fd()))
	if got, err := trace.Count(t.Context(), d, trace.TableCallback); err != nil || got != 100 {
		t.Errorf("%d callbacks, %v", got, err)
	}
	if free, err := w.FreeBytes(); err != nil || free > bound || free < bound/2 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
	var full error
	for seed := uint64(0); full == nil && seed < 1000; seed++ {
		full = errors.Join(w.Write(tracetest.BatchOf(tracetest.Random[trace.Callback](1000, seed))), w.Flush(t.Context()))
	}
	if !errors.Is(full, writer.ErrDiskFull) {
		t.Errorf("beyond its bound: %v", full)
	}
	if err := w.Close(); !errors.Is(err, writer.ErrDiskFull) {
		t.Error(err)
	}
}

// A segment of another dataset comes behind the rows that were written before, and before those that come later.
func TestAdopt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other")
	row := func(address trace.Address) *trace.Batch {
		return tracetest.BatchOf([]trace.Callback{{Callback: address}})
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	segment := tracetest.AddSegment(t, path, 0, row(2).Callbacks)
	f, err := os.Open(segment)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	to := filepath.Join(t.TempDir(), "recorded")
	w, err := writer.Create(to, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := trace.TableByName(trace.TableCallback)
	err = errors.Join(w.WriteSession(trace.NewSession()), w.Write(row(1)), w.Adopt(table, f, 1), w.Append(table, &row(3).Callbacks))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.StoredRows()[trace.TableCallback]; got != 3 {
		t.Errorf("%d rows are stored", got)
	}
	var found []trace.Address
	err = trace.Scan(t.Context(), tracetest.Open(t, to), trace.TableCallback, func(rows []trace.Callback) error {
		for _, row := range rows {
			found = append(found, row.Callback)
		}
		return nil
	})
	if err != nil || fmt.Sprint(found) != fmt.Sprint([]trace.Address{1, 2, 3}) {
		t.Errorf("%v, %v", found, err)
	}
}

// A recording that keeps only so much does not keep the entities for ever that have ended: of each that is kept there
// is the row that counts.
func TestEndedEntitiesAreForgotten(t *testing.T) {
	const periods = 100
	second := time.Second.Nanoseconds()
	var now atomic.Int64
	now.Store(1000 * second)
	path := filepath.Join(t.TempDir(), "recorded")
	w, err := writer.Create(path, writer.Options{Retention: writer.Retention{Age: 5 * time.Second}, Now: now.Load})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	node := func(number, revision uint64, ended int64) trace.Node {
		row := trace.Node{NodeHandle: trace.Address(number), InitTimestamp: trace.Some(second)}
		row.Stamp(number, revision)
		if ended > 0 {
			row.EndTimestamp = trace.Some(ended)
		}
		return row
	}
	const lives = uint64(1000)
	for period := range uint64(periods) {
		now.Add(second)
		batch := tracetest.BatchOf(tracetest.Random[trace.Callback](3, period))
		// One that lives is told of anew each time, and one comes and goes.
		batch.Nodes = []trace.Node{node(lives, period+1, 0), node(period+1, 1, 0), node(period+1, 2, now.Load())}
		if err := errors.Join(w.Write(batch), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	d := tracetest.Open(t, path)
	segments, _, err := d.Segments(trace.TableNode)
	if err != nil || len(segments) > 40 {
		t.Errorf("%d segments of nodes, %v", len(segments), err)
	}
	found := map[trace.Address]trace.Node{}
	err = trace.Scan(t.Context(), d, trace.TableNode, func(rows []trace.Node) error {
		for _, row := range rows {
			found[row.NodeHandle] = row
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if row, ok := found[trace.Address(lives)]; !ok || row.Revision != periods || row.EndTimestamp.Valid {
		t.Errorf("the node that lives is %+v, %v", row, ok)
	}
	if len(found) > 45 {
		t.Errorf("%d nodes are kept", len(found))
	}
	for number := uint64(periods - 4); number <= periods; number++ {
		if row := found[trace.Address(number)]; !row.EndTimestamp.Valid {
			t.Errorf("node %d, which ended in the time that is kept, is %+v", number, row)
		}
	}
	if got := w.StoredRows()[trace.TableNode]; got > 3*45 || got < 5 {
		t.Errorf("%d rows of nodes are counted", got)
	}
	// While somebody reads, nothing is replaced.
	release := w.Hold()
	before := w.StoredRows()[trace.TableNode]
	for period := range uint64(40) {
		now.Add(second)
		batch := &trace.Batch{Nodes: []trace.Node{node(2000+period, 1, now.Load())}}
		if err := errors.Join(w.Write(batch), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.StoredRows()[trace.TableNode]; got != before+40 {
		t.Errorf("%d rows of nodes, %d before", got, before)
	}
	release()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// Rows of entities count against what is to be kept: where nodes come and go all the time, the dataset does not get
// larger. Where those that live take all of it, the other rows have half of it nevertheless.
func TestEntitiesCountAgainstWhatIsKept(t *testing.T) {
	const periods, nodesEach, kept = 100, 200, 512 << 10
	second := time.Second.Nanoseconds()
	for name, test := range map[string]struct {
		end         bool
		least, most int64 // bytes, in the end; of callbacks, and of all
	}{
		"that end":  {true, kept / 2, kept},
		"that live": {false, kept * 3 / 8, 2 * kept},
	} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Int64
			now.Store(1000 * second)
			path := filepath.Join(t.TempDir(), "recorded")
			w, err := writer.Create(path, writer.Options{Retention: writer.Retention{Bytes: kept}, SegmentBytes: kept / 32, Now: now.Load})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := w.WriteSession(trace.NewSession()); err != nil {
				t.Fatal(err)
			}
			for period := range uint64(periods) {
				now.Add(second)
				batch := tracetest.BatchOf(tracetest.Random[trace.Callback](500, period))
				batch.Nodes = tracetest.Random[trace.Node](nodesEach, period)
				for i := range batch.Nodes {
					node := &batch.Nodes[i]
					node.Stamp(period*nodesEach+uint64(i)+1, 1)
					node.InitTimestamp, node.EndTimestamp = trace.Some(now.Load()), trace.Optional[int64]{}
					if test.end {
						node.EndTimestamp = trace.Some(now.Load())
					}
				}
				if err := errors.Join(w.Write(batch), w.Flush(t.Context())); err != nil {
					t.Fatal(err)
				}
			}
			callbacks, all := folderBytes(t, filepath.Join(path, trace.TableCallback)), w.WrittenBytes()
			t.Logf("%d bytes of callbacks, %d of all", callbacks, all)
			if callbacks < test.least || all > test.most {
				t.Errorf("%d bytes of callbacks, at least %d; %d of all, at most %d", callbacks, test.least, all, test.most)
			}
			if entities := all - callbacks; entities > kept/2 == test.end {
				t.Errorf("entities take %d bytes", entities)
			}
		})
	}
}

func folderBytes(t *testing.T, path string) (bytes int64) {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}
