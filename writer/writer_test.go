package writer

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func create(t testing.TB, options Options) (*Writer, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dataset")
	w, err := Create(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	return w, dir
}

func closeWriter(t testing.TB, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func appendRows[T any](t testing.TB, w *Writer, rows ...T) {
	t.Helper()
	if err := w.Write(tracetest.BatchOf(rows)); err != nil {
		t.Fatal(err)
	}
}

func readAll[T any](t testing.TB, dir string) (all []T) {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = trace.Scan(t.Context(), d, trace.TableOf[T]().Name, func(rows []T) error {
		all = append(all, rows...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// segmentNames lists a table's folder; nil when there is none.
func segmentNames(t testing.TB, dir, table string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, table))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestEveryTableIsWritten spans several batches, row groups and segments.
func TestEveryTableIsWritten(t *testing.T) {
	w, dir := create(t, Options{RowGroupRows: 1500, SegmentBytes: 20_000})
	want := new(trace.Batch)
	for seed := range uint64(26) {
		rows := tracetest.RandomBatch(777, 100*seed)
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		want.Append(rows)
	}
	closeWriter(t, w)
	d, got := tracetest.Open(t, dir), new(trace.Batch)
	for _, table := range trace.Registry() {
		rows := want.Of(table)
		if err := table.Read(t.Context(), d, got); err != nil {
			t.Fatal(err)
		}
		if got := got.Of(table); !reflect.DeepEqual(got, rows) {
			t.Errorf("table %s has %d rows, want %d, or others", table.Name, got.Len(), rows.Len())
		}
		if got := w.StoredRows()[table.Name]; got != uint64(rows.Len()) {
			t.Errorf("table %s: %d rows stored, want %d", table.Name, got, rows.Len())
		}
		if names := segmentNames(t, dir, table.Name); len(names) < 2 {
			t.Errorf("table %s has segments %v: none was closed for its size", table.Name, names)
		}
	}
}

func TestTheWriterHasEveryTable(t *testing.T) {
	w, _ := create(t, Options{})
	defer closeWriter(t, w)
	for _, table := range trace.Registry() {
		if _, ok := w.AcceptedRows()[table.Name]; !ok {
			t.Errorf("no %s", table.Name)
		}
	}
}

func TestSegmentsCloseWithTimeEvenWithoutNewRows(t *testing.T) {
	w, dir := create(t, Options{SegmentPeriod: 10 * time.Second})
	now := time.Unix(1_000, 0)
	tick := func(after time.Duration) {
		t.Helper()
		now = now.Add(after)
		if err := w.Tick(now); err != nil {
			t.Fatal(err)
		}
	}
	tick(0)
	appendRows(t, w, trace.Clock{MonotonicTimestamp: 1})
	tick(9 * time.Second)
	settle(t, w)
	if names := closedSegments(t, dir, trace.TableClock); len(names) != 0 {
		t.Errorf("segments %v before the period is over", names)
	}
	tick(1 * time.Second)
	settle(t, w)
	if names := segmentNames(t, dir, trace.TableClock); !slices.Equal(names, []string{"00000000.parquet"}) {
		t.Errorf("segments %v after the period", names)
	}
	for range 5 {
		tick(10 * time.Second)
	}
	appendRows(t, w, trace.Clock{MonotonicTimestamp: 2})
	tick(10 * time.Second)
	settle(t, w)
	closeWriter(t, w)
	if names := segmentNames(t, dir, trace.TableClock); !slices.Equal(names, []string{"00000000.parquet", "00000001.parquet"}) {
		t.Errorf("segments %v: an empty one, or one is missing", names)
	}
	if names := segmentNames(t, dir, trace.TableTake); names != nil {
		t.Errorf("a table without rows has a folder: %v", names)
	}
}

// settle waits until all that was asked for so far is on disk, without asking for more.
func settle(t *testing.T, w *Writer) {
	t.Helper()
	reached := make(chan struct{})
	w.queue <- barrier{reached}
	<-reached
}

type barrier struct{ reached chan<- struct{} }

func (b barrier) run(e *encoder) error {
	e.commits <- commitment{reached: b.reached}
	return nil
}

func closedSegments(t *testing.T, dir, table string) (names []string) {
	for _, name := range segmentNames(t, dir, table) {
		if !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

func TestFlushMakesRowsReadableWhileRecording(t *testing.T) {
	w, dir := create(t, Options{})
	defer closeWriter(t, w)
	rows := tracetest.Random[trace.Take](10, 1)
	appendRows(t, w, rows...)
	if got := readAll[trace.Take](t, dir); len(got) != 0 {
		t.Errorf("%d rows before the segment is closed", len(got))
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := readAll[trace.Take](t, dir); !reflect.DeepEqual(got, rows) {
		t.Errorf("rows %v, want %v", got, rows)
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Live() || d.Killed() {
		t.Errorf("while recording: live %v, killed %v", d.Live(), d.Killed())
	}
}

// What was written is the size of the files, those that are not closed yet included.
func TestWrittenBytes(t *testing.T) {
	w, dir := create(t, Options{SegmentBytes: 32 << 10, RowGroupRows: 500})
	defer closeWriter(t, w)
	if got := w.WrittenBytes(); got != 0 {
		t.Errorf("%d bytes before the first row", got)
	}
	before := int64(0)
	for range 2 {
		appendRows(t, w, tracetest.Random[trace.Take](5000, 1)...)
		appendRows(t, w, tracetest.Random[trace.Callback](2000, 1)...)
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		size := int64(0)
		for _, table := range []string{trace.TableTake, trace.TableCallback} {
			for _, name := range segmentNames(t, dir, table) {
				info, err := os.Stat(filepath.Join(dir, table, name))
				if err != nil {
					t.Fatal(err)
				}
				size += info.Size()
			}
		}
		if got := w.WrittenBytes(); got != size || got <= before {
			t.Errorf("%d bytes were written, the files have %d, before there were %d", got, size, before)
		}
		before = w.WrittenBytes()
	}
}

func TestFreeBytes(t *testing.T) {
	w, _ := create(t, Options{})
	defer closeWriter(t, w)
	if free, err := w.FreeBytes(); err != nil || free <= 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}

func TestFlushIsCancelled(t *testing.T) {
	w, _ := create(t, Options{})
	defer closeWriter(t, w)
	stuck := make(chan struct{})
	w.queue <- obstacle{stuck}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(stuck)
}

type obstacle struct{ until <-chan struct{} }

func (o obstacle) run(*encoder) error {
	<-o.until
	return nil
}

func TestRowGroupsAreBounded(t *testing.T) {
	w, dir := create(t, Options{RowGroupRows: 1000})
	appendRows(t, w, tracetest.Random[trace.Clock](50_000, 1)...)
	closeWriter(t, w)
	segment := openParquet(t, filepath.Join(dir, trace.TableClock, "00000000.parquet"))
	for i, group := range segment.RowGroups() {
		if batch := int64(batchBytes / 32); group.NumRows() > 1000+batch {
			t.Errorf("row group %d has %d rows", i, group.NumRows())
		}
	}
}

// Readers find a column by the path in the row group's metadata, or by its place: both must be right in every segment.
func TestFooterOfEverySegment(t *testing.T) {
	w, dir := create(t, Options{RowGroupRows: 1000})
	const segments = 3
	var rows trace.Rows[trace.Callback]
	for i := range segments {
		batch := tracetest.Random[trace.Callback](3000, uint64(i))
		rows = append(rows, batch...)
		appendRows(t, w, batch...)
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	closeWriter(t, w)
	names := segmentNames(t, dir, trace.TableCallback)
	if len(names) != segments {
		t.Fatalf("segments %v", names)
	}
	table := trace.TableOf[trace.Callback]()
	for _, name := range names {
		segment := openParquet(t, filepath.Join(dir, trace.TableCallback, name))
		if version, _ := segment.Lookup("caret-bpf.format_version"); version != strconv.Itoa(trace.FormatVersion) {
			t.Errorf("%s: format version %q", name, version)
		}
		if groups := len(segment.RowGroups()); groups < 2 {
			t.Errorf("%s: %d row groups", name, groups)
		}
		for _, group := range segment.Metadata().RowGroups {
			of := rows[:group.NumRows]
			for i, column := range group.Columns {
				meta := &column.MetaData
				if !slices.Equal(meta.PathInSchema, []string{table.Columns[i].Name}) || meta.NumValues != group.NumRows {
					t.Errorf("%s: column %d is %q with %d values, want %q with %d", name, i, meta.PathInSchema, meta.NumValues, table.Columns[i].Name, group.NumRows)
				}
				checkStatistics(t, segment.Root().Columns()[i], meta, tracetest.Values(&table.Columns[i], &of))
			}
			rows = rows[group.NumRows:]
		}
	}
}

// checkStatistics compares a column chunk's statistics, by which queries skip row groups, with its values.
func checkStatistics(t *testing.T, column *parquet.Column, meta *format.ColumnMetaData, values []parquet.Value) {
	t.Helper()
	low, high, nulls := parquet.Value{}, parquet.Value{}, int64(0)
	for _, value := range values {
		switch {
		case value.IsNull():
			nulls++
			continue
		case low.IsNull():
			low, high = value, value
		}
		if column.Type().Compare(value, low) < 0 {
			low = value
		}
		if column.Type().Compare(value, high) > 0 {
			high = value
		}
	}
	got := &meta.Statistics
	if !bytes.Equal(got.MinValue, low.Bytes()) || !bytes.Equal(got.MaxValue, high.Bytes()) || got.NullCount != nulls {
		t.Errorf("column %s: statistics [%x, %x] and %d nulls, want [%x, %x] and %d",
			column.Name(), got.MinValue, got.MaxValue, got.NullCount, low.Bytes(), high.Bytes(), nulls)
	}
}

func openParquet(t *testing.T, path string) *parquet.File {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCreateRefusesADirectoryInUse(t *testing.T) {
	w, dir := create(t, Options{})
	if _, err := Create(dir, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("a dataset that is being written: %v", err)
	}
	closeWriter(t, w)
	if _, err := Create(dir, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("a dataset: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(file, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("a file: %v", err)
	}
	empty := t.TempDir()
	w, err := Create(empty, Options{})
	if err != nil {
		t.Fatalf("an empty directory: %v", err)
	}
	closeWriter(t, w)
}

func TestAClosedWriterRefusesEverything(t *testing.T) {
	w, _ := create(t, Options{})
	closeWriter(t, w)
	calls := map[string]error{
		"Write":        w.Write(&trace.Batch{Clocks: []trace.Clock{{}}}),
		"Tick":         w.Tick(time.Now()),
		"Flush":        w.Flush(t.Context()),
		"WriteSession": w.WriteSession(trace.NewSession()),
		"Close":        w.Close(),
	}
	for name, err := range calls {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Command lines can be long: pages that hold them must stay within what a reader accepts.
func TestLongCommandLines(t *testing.T) {
	w, dir := create(t, Options{})
	var rows []trace.Process
	for i := range 200 {
		rows = append(rows, trace.Process{CommandLine: strings.Repeat(string(rune('a'+i%26)), 100_000+i)})
	}
	appendRows(t, w, rows...)
	closeWriter(t, w)
	if got := readAll[trace.Process](t, dir); !reflect.DeepEqual(got, rows) {
		t.Errorf("%d rows, want %d, or others", len(got), len(rows))
	}
}

func TestNothingButTheDatasetIsLeft(t *testing.T) {
	w, dir := create(t, Options{})
	appendRows(t, w, trace.Clock{})
	closeWriter(t, w)
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if want := []string{".", "clock", "clock/00000000.parquet", "session.json"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("files %q, %v; want %q", names, err, want)
	}
}

func TestConcurrentUse(t *testing.T) {
	w, dir := create(t, Options{SegmentPeriod: time.Nanosecond})
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for i := range 500 {
				if err := w.Write(&trace.Batch{Losses: []trace.Loss{{Count: uint64(caller*1000 + i)}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Go(func() {
		for range 20 {
			if err := errors.Join(w.Tick(time.Now()), w.WriteSession(trace.NewSession()), w.Flush(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
	callers.Wait()
	closeWriter(t, w)
	seen := map[uint64]int{}
	for _, row := range readAll[trace.Loss](t, dir) {
		seen[row.Count]++
	}
	for caller := range 4 {
		for i := range 500 {
			if n := seen[uint64(caller*1000+i)]; n != 1 {
				t.Fatalf("row %d of caller %d is there %d times", i, caller, n)
			}
		}
	}
}

func TestWriteDoesNotAllocateForEachCall(t *testing.T) {
	w, _ := create(t, Options{})
	defer closeWriter(t, w)
	rows := tracetest.RandomBatch(8, 1)
	write := func() {
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if n := testing.AllocsPerRun(10, write); n > 0 {
		t.Errorf("%v allocations a call while the batches have room", n)
	}
}
