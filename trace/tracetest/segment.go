package tracetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/trace"
)

// EncodeSegment returns the bytes of a segment with the rows in row groups of groupRows.
func EncodeSegment[T any](t testing.TB, rows []T, groupRows int) []byte {
	t.Helper()
	var out bytes.Buffer
	compressors := columnar.NewCompressors()
	defer compressors.Release()
	w := trace.NewSegmentWriter(trace.TableOf[T](), compressors)
	if err := w.Begin(&out); err != nil {
		t.Fatal(err)
	}
	for group := range slices.Chunk(trace.Rows[T](rows), groupRows) {
		if err := errors.Join(w.Add(&group), w.EndGroup()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// AddSegment adds a segment with the rows to the dataset in dir and returns its path.
func AddSegment[T any](t testing.TB, dir string, sequence int, rows []T) string {
	t.Helper()
	path := segmentPath(dir, trace.TableOf[T](), sequence)
	writeFile(t, path, EncodeSegment(t, rows, 5000))
	return path
}

// AddSegments adds segments with the batch's rows to the dataset in dir, one to each table that it has rows of.
func AddSegments(t testing.TB, dir string, sequence int, batch *trace.Batch) {
	t.Helper()
	compressors := columnar.NewCompressors()
	defer compressors.Release()
	for _, table := range trace.Registry() {
		rows := batch.Of(table)
		if rows.Len() == 0 {
			continue
		}
		var out bytes.Buffer
		w := trace.NewSegmentWriter(table, compressors)
		if err := errors.Join(w.Begin(&out), w.Add(rows), w.End()); err != nil {
			t.Fatal(err)
		}
		writeFile(t, segmentPath(dir, table, sequence), out.Bytes())
	}
}

func segmentPath(dir string, table *trace.Table, sequence int) string {
	return filepath.Join(dir, table.Name, fmt.Sprintf("%08d.parquet", sequence))
}

// AddSystem adds the segments of a System of n callback executions to the dataset in dir.
func AddSystem(t testing.TB, dir string, n int) {
	t.Helper()
	sequence := 0
	add := func(batch *trace.Batch) error {
		AddSegments(t, dir, sequence, batch)
		sequence++
		return nil
	}
	entities, err := System(n, add)
	if err != nil {
		t.Fatal(err)
	}
	_ = add(entities)
}

// AddSession gives the dataset in dir a session.json.
func AddSession(t testing.TB, dir string, s *trace.Session) {
	t.Helper()
	text, err := trace.EncodeSession(s)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, trace.SessionFile), text)
}

// Open opens the dataset in a folder.
func Open(t testing.TB, dir string) *trace.Dataset {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func writeFile(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
