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
func EncodeSegment[T trace.Row](t testing.TB, rows []T, groupRows int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := trace.NewSegmentWriter[T](columnar.NewCompressors())
	if err := w.Begin(&out); err != nil {
		t.Fatal(err)
	}
	for group := range slices.Chunk(rows, groupRows) {
		if err := errors.Join(w.Add(group), w.EndGroup()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// AddSegment adds a segment with the rows to the dataset in dir and returns its path.
func AddSegment[T trace.Row](t testing.TB, dir string, sequence int, rows []T) string {
	t.Helper()
	path := filepath.Join(dir, trace.TableOf[T]().Name, fmt.Sprintf("%08d.parquet", sequence))
	writeFile(t, path, EncodeSegment(t, rows, 5000))
	return path
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
