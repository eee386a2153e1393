package loader

import (
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/measure"
)

// hitsMeasured is how many callbacks, of two hits each, the threads of a target do for one measurement.
const hitsMeasured = 100_000

// BenchmarkHit measures what a hit of a merged event costs, in processor time of the threads that hit: one and several,
// alone and with many other sites attached to the same file, each with the filter of processes where the way to attach
// has it. A bystander is another process with the same file mapped, which is not recorded.
func BenchmarkHit(b *testing.B) {
	library := buildMany(b)
	for _, others := range []int{1, 300} {
		for _, threads := range []int{1, 8} {
			benchmarkEachWay(b, fmt.Sprintf("others=%d/threads=%d", others, threads), func(b *testing.B, w way) {
				target, bystander := startTargetWith(b, library), startTargetWith(b, library)
				l := w.load(b, Options{})
				var hit, passed []float64
				for b.Loop() {
					untraced, untracedBystander := target.callbackTime(threads), bystander.callbackTime(threads)
					attachment, problems, err := l.Attach(b.Context(), target.pid, append(target.callbackSites(library), target.functionSites(library, others, 1)...))
					if err != nil || len(problems) > 0 {
						b.Fatal(err, problems)
					}
					if _, _, err := l.OpenGate(); err != nil {
						b.Fatal(err)
					}
					hit = append(hit, (target.callbackTime(threads)-untraced)/2)
					passed = append(passed, (bystander.callbackTime(threads)-untracedBystander)/2)
					closeAttachment(b, attachment)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(measure.Median(hit), "ns/hit")
				b.ReportMetric(measure.Median(passed), "bystander-ns/hit")
			})
		}
	}
}

// callbackTime lets threads do callbacks, and returns the process's time for one, in nanoseconds.
func (c *target) callbackTime(threads int) float64 {
	c.t.Helper()
	start := c.processorTime()
	c.callbacks(hitsMeasured/threads, threads)
	return float64(c.processorTime()-start) / float64(hitsMeasured/threads*threads)
}

// processorTime is what all threads of the process have used, in nanoseconds.
func (c *target) processorTime() int64 {
	c.t.Helper()
	used, err := measure.ProcessorTime(int(c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	return used.Nanoseconds()
}
