package readers

import (
	"errors"
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

// write writes a dataset with rows in every table, in some tables in two segments, and returns what Go reads from it.
func write(t *testing.T, dir string) []table {
	t.Helper()
	w, err := writer.Create(dir, writer.Options{RowGroupRows: 30_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(trace.NewSession()); err != nil {
		t.Fatal(err)
	}
	random, system := tracetest.RandomBatch(fewRows, 1), tracetest.Synthetic(manyRows)
	random.Events, system.Events = tracetest.Random[trace.Event](manyRows, 8), nil
	parts := []*trace.Batch{random, system}
	for _, part := range parts {
		if err := errors.Join(w.Write(part), w.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var tables []table
	for _, of := range trace.Registry() {
		segments := 0
		for _, part := range parts {
			if part.Of(of).Len() > 0 {
				segments++
			}
		}
		tables = append(tables, read(t, dir, of, segments))
	}
	return tables
}

func read(t *testing.T, dir string, of *trace.Table, segments int) table {
	t.Helper()
	folder := filepath.Join(dir, of.Name)
	result := table{Name: of.Name}
	for _, column := range of.Columns {
		result.Columns = append(result.Columns, column.Name)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != segments {
		t.Fatalf("%d segments of table %s, want %d", len(entries), of.Name, segments)
	}
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		s := segment{Name: entry.Name(), Values: make([][]any, len(of.Columns))}
		err = trace.ScanSegment(t.Context(), of, file, func(rows trace.AnyRows) error {
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
