package perfetto_test

import (
	"errors"
	"io"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/perfetto"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
	"github.com/caret-bpf/caret-bpf/writer"
)

// benchCallbacks is how many executions are drawn.
const benchCallbacks = 1_000_000

// BenchmarkWrite draws a system. Its rates are by processor time, of all threads. Garbage may grow as for the command.
func BenchmarkWrite(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(300))
	dir := b.TempDir() + "/rec"
	w, err := writer.Create(dir, writer.Options{})
	if err != nil {
		b.Fatal(err)
	}
	entities, err := tracetest.System(benchCallbacks, w.Write)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(w.Write(entities), w.WriteSession(trace.NewSession()), w.Close()); err != nil {
		b.Fatal(err)
	}
	for _, compression := range perfetto.Compressions {
		b.Run(string(compression), func(b *testing.B) {
			var summary perfetto.Summary
			before := processorTime(b)
			for b.Loop() {
				d := tracetest.Open(b, dir)
				q, err := analyze.NewQuery(b.Context(), analyze.Filter{}, d)
				if err != nil {
					b.Fatal(err)
				}
				if summary, err = perfetto.Write(b.Context(), io.Discard, d, q, perfetto.Options{Compression: compression}); err != nil {
					b.Fatal(err)
				}
			}
			used := processorTime(b) - before
			b.ReportMetric(float64(summary.Callbacks)*float64(b.N)/used.Seconds(), "callbacks/processor-s")
			b.ReportMetric(float64(summary.Bytes)/float64(summary.Callbacks), "B/callback")
			b.ReportMetric(float64(summary.Flows)/float64(summary.Callbacks), "flows/callback")
		})
	}
}

// processorTime is what the process has used.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
