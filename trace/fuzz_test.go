package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// FuzzSegment reads arbitrary bytes as a segment: an error or rows, never a panic, in bounded memory.
func FuzzSegment(f *testing.F) {
	whole := tracetest.EncodeSegment(f, tracetest.Random[trace.Loss](200, 1), 100)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(whole[len(whole)/2:])
	f.Add([]byte("PAR1PAR1"))
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Add(footerOnly(endlessList))
	f.Add(footerOnly(endlessNesting))
	dir := f.TempDir()
	tracetest.AddSession(f, dir, trace.NewSession())
	path := filepath.Join(dir, trace.TableLoss, "0.parquet")
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	d, err := trace.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, segment []byte) {
		if err := os.WriteFile(path, segment, 0o644); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows, err := collect[trace.Loss](t.Context(), d, trace.TableLoss)
		runtime.ReadMemStats(&after)
		if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 300 {
			t.Errorf("%d MiB were allocated for a segment of %d bytes", allocated, len(segment))
		}
		var damage *trace.DamageError
		if err != nil && !errors.As(err, &damage) {
			t.Errorf("error %v of %d rows is no DamageError", err, len(rows))
		}
		if _, _, err := trace.TimeSpan(t.Context(), d); err != nil && !errors.As(err, &damage) {
			t.Errorf("error %v of the time span is no DamageError", err)
		}
		if _, err := summary.Of(t.Context(), d, nil); err != nil {
			t.Errorf("summary: %v", err)
		}
	})
}

// FuzzSession opens a dataset with an arbitrary session.json; what is accepted is written back and read again.
func FuzzSession(f *testing.F) {
	text, err := trace.EncodeSession(exampleSession())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format_version": 1}`))
	f.Add([]byte(`{"format_version": 2}`))
	f.Add([]byte(`{"format_version": "1"}`))
	f.Add([]byte(`null`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, trace.SessionFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
		d, err := trace.Open(dir)
		if err != nil {
			return
		}
		if d.Session() == nil {
			t.Fatal("a dataset without tables opened without a session")
		}
		again, err := trace.EncodeSession(d.Session())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trace.DecodeSession(again); err != nil {
			t.Fatalf("what was accepted is refused when written back: %v\n%s", err, again)
		}
		if _, err := summary.Of(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
	})
}
