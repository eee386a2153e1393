package writer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// BenchmarkWriter measures rows a second into closed segments, the bytes that a row takes, and the allocations a row
// costs.
func BenchmarkWriter(b *testing.B) {
	rows := tracetest.Synthetic(50_000)
	b.Run(trace.TableCallback, func(b *testing.B) { benchmarkAppend(b, rows.Callbacks) })
	b.Run(trace.TablePublish, func(b *testing.B) { benchmarkAppend(b, rows.Publishes) })
	b.Run(trace.TableEvent, func(b *testing.B) { benchmarkAppend(b, rows.Events) })
}

func benchmarkAppend[T trace.Row](b *testing.B, rows []T) {
	dir := filepath.Join(b.TempDir(), "dataset")
	w, err := Create(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	written := 0
	for b.Loop() {
		for batch := rows; len(batch) > 0; {
			n := min(len(batch), 64)
			if err := Append(w, batch[:n]); err != nil {
				b.Fatal(err)
			}
			batch = batch[n:]
		}
		written += len(rows)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(written)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(directoryBytes(b, dir))/float64(written), "B/row")
}

func directoryBytes(b *testing.B, dir string) (bytes int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
