package loader

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// BenchmarkAttachDetach measures attaching and detaching a thousand sites in one process: with one program as a plan of
// one event would have them, and spread over ten programs.
func BenchmarkAttachDetach(b *testing.B) {
	library := buildMany(b)
	for _, programs := range []int{1, 10} {
		for _, count := range []int{10, 200, 1000} {
			benchmarkEachWay(b, fmt.Sprintf("programs=%d/sites=%d", programs, count), func(b *testing.B, w way) {
				target := startTargetWith(b, library)
				measureAttachDetach(b, w, target.pid, target.functionSites(library, count, programs))
			})
		}
	}
}

func benchmarkEachWay(b *testing.B, name string, benchmark func(*testing.B, way)) {
	for _, w := range ways() {
		b.Run(w.name+"/"+name, func(b *testing.B) {
			w.require(b)
			benchmark(b, w)
		})
	}
}

// buildMany compiles testdata/many.c.
func buildMany(b *testing.B) string {
	requireRoot(b)
	library := filepath.Join(b.TempDir(), "libmany.so")
	if err := compile("-shared", "-fPIC", "-o", library, "testdata/many.c"); err != nil {
		b.Fatal(err)
	}
	return library
}

// functionSites are sites in some of the library's thousand functions, spread over the programs of some events.
func (c *target) functionSites(library string, count, programs int) []probes.Site {
	c.t.Helper()
	if count == 0 {
		return nil
	}
	// The functions are equally long.
	first, second := c.site(library, "function_000", 0), c.site(library, "function_001", 0)
	var sites []probes.Site
	for i := range count {
		site := first
		site.Event = abi.EventCallbackStart + abi.Event(i%programs)
		site.Symbol = fmt.Sprintf("function_%03d", i)
		site.Offset += uint64(i) * (second.Offset - first.Offset)
		site.Address += uint64(i) * (second.Address - first.Address)
		sites = append(sites, site)
	}
	return sites
}

func measureAttachDetach(b *testing.B, w way, process int32, sites []probes.Site) {
	r := newRecording(b, w)
	var attaching, detaching time.Duration
	for b.Loop() {
		start := time.Now()
		attachment := r.attach(process, sites...)
		attached := time.Now()
		closeAttachment(b, attachment)
		attaching += attached.Sub(start)
		detaching += time.Since(attached)
	}
	b.ReportMetric(float64(attaching.Milliseconds())/float64(b.N), "attach-ms")
	b.ReportMetric(float64(detaching.Milliseconds())/float64(b.N), "detach-ms")
	b.ReportMetric(0, "ns/op")
}
