package trace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// TestGroupsAreLimited has segments of two tables, and room for a part of them.
func TestGroupsAreLimited(t *testing.T) {
	d := &Dataset{dir: t.TempDir(), as: asProgram}
	clocks, losses := make(Rows[Clock], 1), make(Rows[Loss], 1)
	for range 4 {
		writeGroups(t, d.dir, &clocks, 5)
		writeGroups(t, d.dir, &losses, 5)
	}
	groups := func(table string, want int, exceeded bool) {
		t.Helper()
		of, err := Groups(t.Context(), d, table)
		var damaged *DamageError
		if len(of) != want || errors.Is(err, ErrTooManyGroups) != exceeded || errors.As(err, &damaged) && len(damaged.Segments) != 1 {
			t.Errorf("%d row groups of %s, want %d: %v", len(of), table, want, err)
		}
		if exceeded && !strings.Contains(err.Error(), "left out") {
			t.Errorf("no remedy in %v", err)
		}
	}
	groups(TableClock, 20, false)
	ofClock := d.kept.byTable[TableClock]
	groups(TableLoss, 20, false)
	ofLoss := d.kept.byTable[TableLoss]

	d.kept.limit = ofClock + ofLoss
	for range 3 { // who asks again has let go of what there was before
		groups(TableClock, 20, false)
		groups(TableLoss, 20, false)
	}
	d.kept.limit--
	groups(TableLoss, 15, true)
	groups(TableClock, 20, false)
	d.kept.limit = ofClock/4 + 1
	groups(TableClock, 0, true)
}

// TestKeptGroupsAreCounted compares what is counted with what the program has more of. Links to one segment count each.
func TestKeptGroupsAreCounted(t *testing.T) {
	d := &Dataset{dir: t.TempDir(), as: asProgram}
	rows := make(Rows[Callback], 1)
	path := writeGroups(t, d.dir, &rows, 500)
	for _, name := range []string{"1", "2", "3"} {
		if err := os.Symlink(path, strings.ReplaceAll(path, "00000000", name)); err != nil {
			t.Fatal(err)
		}
	}
	before := heap()
	groups, err := Groups(t.Context(), d, TableCallback)
	more := heap() - before
	counted := d.kept.byTable[TableCallback]
	if err != nil || len(groups) != 2000 || counted < more*9/10 || counted > more*2 {
		t.Errorf("%d row groups take %d bytes, counted are %d: %v", len(groups), more, counted, err)
	}
	runtime.KeepAlive(groups)
	if each := counted / int64(len(groups)); each > 2000 {
		t.Errorf("a row group takes %d bytes", each)
	}
}

// writeGroups adds a segment that has the rows in each of its row groups.
func writeGroups[T any](t *testing.T, dir string, rows *Rows[T], groups int) (path string) {
	t.Helper()
	var out bytes.Buffer
	w := NewSegmentWriter(TableOf[T](), columnar.NewCompressors())
	err := w.Begin(&out)
	for range groups {
		err = errors.Join(err, w.Add(rows), w.EndGroup())
	}
	folder := filepath.Join(dir, TableOf[T]().Name)
	segments, _, listError := listSegments(folder)
	path = filepath.Join(folder, fmt.Sprintf("%08d.parquet", len(segments)))
	err = errors.Join(err, listError, w.End(), os.MkdirAll(folder, 0o755), os.WriteFile(path, out.Bytes(), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
