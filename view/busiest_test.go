package view_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/view"
)

// TestMostThreads: of more threads than a page can show it has the busiest, and says so.
func TestMostThreads(t *testing.T) {
	const most = 20_000
	for name, test := range map[string]struct{ threads, shown int }{
		"as many as it shows": {most, most},
		"more":                {most + 1, most},
	} {
		t.Run(name, func(t *testing.T) {
			rows := timers()
			for tid := range int32(test.threads) {
				rows.Callbacks = append(rows.Callbacks, ran(tid+1, 0x10, int64(10*tid), int64(10*tid+5), trace.CallbackComplete, 0))
			}
			last := int32(test.threads)
			rows.Callbacks = append(rows.Callbacks, ran(last, 0x10, int64(20*last), int64(20*last+5), trace.CallbackComplete, 0))
			r := ask[struct {
				Threads  []struct{ TID int32 }
				Warnings []string
			}](t, open(t, view.Options{Datasets: []*trace.Dataset{datasetOf(t, rows)}}), "recording")
			if len(r.Threads) != test.shown || r.Threads[test.shown-1].TID != last {
				t.Errorf("there are %d threads, the last one %+v", len(r.Threads), r.Threads[len(r.Threads)-1])
			}
			warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "leaves 1 thread out") })
			if warned != (test.threads > test.shown) {
				t.Errorf("warnings are %q", r.Warnings)
			}
		})
	}
}
