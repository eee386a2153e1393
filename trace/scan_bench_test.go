package trace_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// BenchmarkScan measures rows a second of all columns, and of the four that a latency needs.
func BenchmarkScan(b *testing.B) {
	dir := b.TempDir()
	tracetest.AddSegment(b, dir, 0, tracetest.Synthetic(100_000).Callbacks)
	d := open(b, dir)
	type latency struct {
		Callback trace.Address         `column:"callback"`
		Start    trace.Optional[int64] `column:"callback_start_timestamp"`
		End      trace.Optional[int64] `column:"callback_end_timestamp"`
		Topic    string                `column:"topic_name,null"`
	}
	b.Run("all columns", func(b *testing.B) { benchmarkScan[trace.Callback](b, d) })
	b.Run("four columns", func(b *testing.B) { benchmarkScan[latency](b, d) })
}

func benchmarkScan[T any](b *testing.B, d *trace.Dataset) {
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		err := trace.Scan(b.Context(), d, trace.TableCallback, func(batch []T) error {
			rows += len(batch)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
