package readers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

const (
	fewRows = 2000
	// manyRows are so many that dictionaries overflow and end in plain pages.
	manyRows = 40_000
)

// write writes a dataset with rows in every table and returns what Go reads from it.
func write(t *testing.T, dir string) []table {
	t.Helper()
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 30_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	system := tracetest.Synthetic(manyRows)
	read := []func() table{
		add(t, w, dir, tracetest.Random[trace.Callback](fewRows, 1), system.Callbacks),
		add(t, w, dir, tracetest.Random[trace.Publish](fewRows, 2), system.Publishes),
		add(t, w, dir, tracetest.Random[trace.Take](fewRows, 3), system.Takes),
		add(t, w, dir, tracetest.Random[trace.Enqueue](fewRows, 4), system.Enqueues),
		add(t, w, dir, tracetest.Random[trace.Service](fewRows, 5)),
		add(t, w, dir, tracetest.Random[trace.Lifecycle](fewRows, 6)),
		add(t, w, dir, tracetest.Random[trace.SimTime](fewRows, 7)),
		add(t, w, dir, tracetest.Random[trace.Event](manyRows, 8)),
		add(t, w, dir, tracetest.Random[trace.Node](fewRows, 9)),
		add(t, w, dir, tracetest.Random[trace.Publisher](fewRows, 10)),
		add(t, w, dir, tracetest.Random[trace.Subscription](fewRows, 11)),
		add(t, w, dir, tracetest.Random[trace.Timer](fewRows, 12)),
		add(t, w, dir, tracetest.Random[trace.ServiceServer](fewRows, 13)),
		add(t, w, dir, tracetest.Random[trace.Client](fewRows, 14)),
		add(t, w, dir, tracetest.Random[trace.CallbackInfo](fewRows, 15)),
		add(t, w, dir, tracetest.Random[trace.CallbackGroup](fewRows, 16)),
		add(t, w, dir, tracetest.Random[trace.Executor](fewRows, 17)),
		add(t, w, dir, tracetest.Random[trace.Context](fewRows, 18)),
		add(t, w, dir, tracetest.Random[trace.LifecycleStateMachine](fewRows, 19)),
		add(t, w, dir, tracetest.Random[trace.Process](fewRows, 20)),
		add(t, w, dir, tracetest.Random[trace.Loss](fewRows, 21)),
		add(t, w, dir, tracetest.Random[trace.Clock](fewRows, 22)),
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(read) != len(trace.Registry()) {
		t.Fatalf("%d tables of %d are read", len(read), len(trace.Registry()))
	}
	var tables []table
	for _, of := range read {
		tables = append(tables, of())
	}
	return tables
}

// add writes each part of a table's rows into a segment. The function that it returns reads them with package trace.
func add[T trace.Row](t *testing.T, w *writer.Writer, dir string, parts ...[]T) func() table {
	t.Helper()
	for _, rows := range parts {
		if err := writer.Append(w, rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return func() table { return read(t, filepath.Join(dir, trace.TableOf[T]().Name), parts) }
}

func read[T trace.Row](t *testing.T, folder string, parts [][]T) table {
	t.Helper()
	of := trace.TableOf[T]()
	result := table{Name: of.Name}
	for _, column := range of.Columns {
		result.Columns = append(result.Columns, column.Name)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(parts) {
		t.Fatalf("%d segments of table %s, want %d", len(entries), of.Name, len(parts))
	}
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		s := segment{Name: entry.Name(), Values: make([][]any, len(of.Columns))}
		err = trace.ScanSegment(t.Context(), of, file, func(rows []T) error {
			for i := range of.Columns {
				for _, value := range tracetest.Values(&of.Columns[i], rows) {
					s.Values[i] = append(s.Values[i], goValue(value))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		result.Segments = append(result.Segments, s)
	}
	return result
}

func goValue(v parquet.Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.Kind() == parquet.Boolean:
		return v.Boolean()
	case v.Kind() == parquet.Int32:
		return v.Int32()
	case v.Kind() == parquet.Int64:
		return v.Int64()
	default:
		return string(v.ByteArray())
	}
}
