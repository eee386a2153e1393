package lake

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func testPartition(t testing.TB, keys ...Key) *partition {
	t.Helper()
	p, err := newPartition("20260102T030405Z-0123456789abcdef", keys)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newTestWriter[T any](t testing.TB, p *partition) *tableWriter[T] {
	t.Helper()
	dir := t.TempDir()
	return newTableWriter[T]("callback_fact", p, func() (*os.File, string, error) {
		f, err := os.CreateTemp(dir, "")
		return f, f.Name(), err
	})
}

func openParquet(t *testing.T, path string) *parquet.File {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(strings.NewReader(string(text)), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestWrittenRowsAreRead: a Parquet library reads from all files, in order, what was written, with the keys in front.
func TestWrittenRowsAreRead(t *testing.T) {
	rows := tracetest.Random[CallbackFact](10_000, 1)
	w := newTestWriter[CallbackFact](t, testPartition(t, Key{KeyDate, "2026-01-02"}, Key{"vehicle", ""}))
	w.groupRows, w.fileBytes = 1000, 100_000
	for len(rows) > 0 {
		n := min(len(rows), 333)
		if err := w.write(rows[:n]); err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
	files, err := w.close()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 2 {
		t.Fatalf("%d files, want several", len(files))
	}
	want := trace.Rows[CallbackFact](tracetest.Random[CallbackFact](10_000, 1))
	first := 0
	for _, f := range files {
		file := openParquet(t, f.local)
		if file.NumRows() != f.Rows || file.Size() != f.Bytes {
			t.Errorf("%s has %d rows and %d bytes, said are %d and %d", f.Name, file.NumRows(), file.Size(), f.Rows, f.Bytes)
		}
		part := want[first : first+int(f.Rows)]
		first += len(part)
		compareRows(t, file, part, map[string]string{"recording_id": w.partition.recording, "date": "2026-01-02"}, "vehicle")
	}
	if first != len(want) {
		t.Errorf("%d rows, want %d", first, len(want))
	}
}

// compareRows compares all values of a file with those of rows, and those of the leading columns with texts, of which
// null ones are named.
func compareRows[T any](t *testing.T, file *parquet.File, rows trace.Rows[T], leading map[string]string, null ...string) {
	t.Helper()
	columns := trace.ColumnsOf[T]()
	names := file.Schema().Columns()
	if len(names) != len(columns)+len(leading)+len(null) {
		t.Fatalf("%d columns: %v", len(names), names)
	}
	var found [][]parquet.Value
	for range names {
		found = append(found, nil)
	}
	reader := parquet.NewReader(file)
	defer func() { _ = reader.Close() }()
	buffer := make([]parquet.Row, 100)
	for {
		n, err := reader.ReadRows(buffer)
		for _, row := range buffer[:n] {
			for _, value := range row {
				found[value.Column()] = append(found[value.Column()], value.Clone())
			}
		}
		if err != nil {
			break
		}
	}
	for i := range names {
		name := names[i][0]
		if i < len(leading)+len(null) {
			for _, value := range found[i] {
				if text, ok := leading[name]; ok != !value.IsNull() || ok && value.String() != text {
					t.Fatalf("%s is %v, want %q", name, value, text)
				}
			}
			continue
		}
		c := &columns[i-len(leading)-len(null)]
		if c.Name != name {
			t.Fatalf("column %d is %s, want %s", i, name, c.Name)
		}
		for row, want := range tracetest.Values(c, &rows) {
			if got := found[i][row]; !parquet.Equal(got, want) {
				t.Fatalf("%s of row %d is %v, want %v", name, row, got, want)
			}
		}
	}
}

// TestWhatEnginesReadIsWritten: encodings, codec and types are those that every engine reads, and row groups have
// statistics.
func TestWhatEnginesReadIsWritten(t *testing.T) {
	w := newTestWriter[MessageFact](t, testPartition(t, Key{KeyDate, "2026-01-02"}))
	if err := w.write(tracetest.Random[MessageFact](5000, 2)); err != nil {
		t.Fatal(err)
	}
	files, err := w.close()
	if err != nil {
		t.Fatal(err)
	}
	if want := "callback_fact/date=2026-01-02/20260102T030405Z-0123456789abcdef-00000.parquet"; files[0].Name != want || filepath.IsAbs(files[0].Name) {
		t.Errorf("name %s, want %s", files[0].Name, want)
	}
	for _, group := range openParquet(t, files[0].local).Metadata().RowGroups {
		for _, column := range group.Columns {
			m := &column.MetaData
			if m.Codec != format.Zstd {
				t.Errorf("%s has codec %v", m.PathInSchema, m.Codec)
			}
			if m.Statistics.NullCount < 0 || m.Statistics.MinValue == nil && m.Statistics.NullCount < m.NumValues {
				t.Errorf("%s has no statistics: %+v", m.PathInSchema, m.Statistics)
			}
			for _, encoding := range m.Encoding {
				switch encoding {
				case format.Plain, format.RLE, format.RLEDictionary, format.DeltaBinaryPacked:
				default:
					t.Errorf("%s has encoding %v", m.PathInSchema, encoding)
				}
			}
		}
	}
}

// BenchmarkWrite measures rows that are written, in a second of one core.
func BenchmarkWrite(b *testing.B) {
	rows := make([]CallbackFact, 1<<16)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		at := 1_767_323_045_000_000_000 + int64(i)*1_000_000 + random.Int64N(100_000)
		took := 50_000 + random.Int64N(100_000)
		rows[i] = CallbackFact{
			Host: "vehicle", PID: int32(1000 + i%8), ProcessStart: int64(i % 8), TID: int32(2000 + i%32), CallbackID: int32(i % 64),
			Node: []string{"/sensing/lidar", "/perception/fusion"}[i%2], Kind: trace.KindSubscription, Topic: []string{"/points", "/objects"}[i%2],
			Symbol: "on_event()", Status: trace.CallbackComplete, Begin: trace.Some(at), End: trace.Some(at + took), Latency: trace.Some(took), Overhead: trace.Some[int64](700),
		}
	}
	w := newTestWriter[CallbackFact](b, testPartition(b, Key{KeyDate, "2026-01-02"}, Key{"vehicle", "v12"}))
	written := 0
	for b.Loop() {
		if err := w.write(rows); err != nil {
			b.Fatal(err)
		}
		written += len(rows)
	}
	files, err := w.close()
	if err != nil {
		b.Fatal(err)
	}
	size := int64(0)
	for _, f := range files {
		size += f.Bytes
	}
	b.ReportMetric(float64(written)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(size)/float64(written), "B/row")
}
