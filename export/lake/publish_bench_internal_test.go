package lake

import (
	"path/filepath"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// benchCallbacks are as many as have several batches and segments.
const benchCallbacks = 500_000

// BenchmarkPublish measures rows that are published, in a second, and the processor time that a row takes. Those are
// the rows of all tables but recording: of each execution one, of each message and subscription one, and of each output
// of a node one. The time is that of all of Publish: reading, joining, writing and syncing. Garbage is collected as
// seldom as the command does.
func BenchmarkPublish(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	dir := filepath.Join(b.TempDir(), "rec")
	segment := 0
	entities, err := tracetest.System(benchCallbacks, func(batch *trace.Batch) error {
		tracetest.AddSegments(b, dir, segment, batch)
		segment++
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	tracetest.AddSegments(b, dir, segment, entities)
	tracetest.AddSession(b, dir, trace.NewSession())
	d := tracetest.Open(b, dir)
	rows, before := int64(0), processorTime(b)
	for b.Loop() {
		l, err := Open(b.Context(), b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		result, err := l.Publish(b.Context(), d, Request{})
		if err != nil {
			b.Fatal(err)
		}
		rows += result.Rows
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(processorTime(b)-before)/float64(rows), "cpu-ns/row")
}

// processorTime is that of the process, in nanoseconds: it hardly depends on what else the machine does.
func processorTime(b *testing.B) int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
