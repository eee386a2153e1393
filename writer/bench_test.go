package writer

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// BenchmarkWriter measures rows a second into closed segments, the bytes that a row takes, and the allocations a row
// costs.
func BenchmarkWriter(b *testing.B) {
	rows := tracetest.Synthetic(50_000)
	b.Run(trace.TableCallback, func(b *testing.B) { benchmarkWrite(b, rows.Callbacks) })
	b.Run(trace.TablePublish, func(b *testing.B) { benchmarkWrite(b, rows.Publishes) })
	b.Run(trace.TableEvent, func(b *testing.B) { benchmarkWrite(b, rows.Events) })
}

func benchmarkWrite[T any](b *testing.B, rows []T) {
	dir := filepath.Join(b.TempDir(), "dataset")
	w, err := Create(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	var batch trace.Batch
	part := batch.Of(trace.TableOf[T]()).(*trace.Rows[T])
	b.ReportAllocs()
	written := 0
	for b.Loop() {
		for *part = range slices.Chunk(rows, 64) {
			if err := w.Write(&batch); err != nil {
				b.Fatal(err)
			}
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
