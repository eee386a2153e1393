package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// startLibraries is how many libraries of nodes the process has mapped. On Humble each has about a dozen calls of
// tracepoints.
const startLibraries = 400

// BenchmarkStart measures a whole `caret-bpf record` of a process of many libraries: the time from its start until it
// records and from its interruption until it has ended, its processor time until it records, and its memory; with all
// files in the page cache (warm), and with none of what the process itself has not mapped (cold).
func BenchmarkStart(b *testing.B) {
	requireRecordingBench(b)
	program := measure.CopySelf(b, b.TempDir(), "caret-bpf")
	for _, distro := range standin.Distros() {
		component := filepath.Join(standin.Directory(b, distro, false), "libstandin_component.so")
		libraries, err := measure.CopyLibraries(component, b.TempDir(), startLibraries)
		if err != nil {
			b.Fatal(err)
		}
		for _, way := range []string{"uprobe_multi", "tracefs"} {
			for _, cache := range []string{"warm", "cold"} {
				b.Run(fmt.Sprintf("%s/%s/%s", distro, way, cache), func(b *testing.B) {
					target := standin.StartReady(b, standin.Config{
						Distro: distro, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "100"}, NoGroundTruth: true,
						Environment: []string{"LD_PRELOAD=" + strings.Join(libraries, ":"), "LD_LIBRARY_PATH=" + standin.Directory(b, distro, false)},
					})
					defer target.Kill()
					var arguments []string
					if way == "tracefs" {
						arguments = append(arguments, "--force-tracefs")
					}
					var results startResults
					for b.Loop() {
						if cache == "cold" {
							dropCaches(b)
						}
						results.record(startMeasured(b, program, target.PID(), arguments...))
					}
					results.report(b)
				})
			}
		}
	}
}

// startResults are the results of several recordings.
type startResults struct{ start, used, stop, memory, sites []float64 }

// record takes a recording from its start to its end.
func (s *startResults) record(r *measuredRecorder) {
	r.b.Helper()
	r.awaitRecording()
	time.Sleep(time.Second)
	interrupted := time.Now()
	session := r.stop()
	s.stop = append(s.stop, time.Since(interrupted).Seconds()*1e3)
	s.start = append(s.start, entered(r.b, session, trace.StateRecording).Sub(r.started).Seconds()*1e3)
	s.used = append(s.used, r.used.Seconds()*1e3)
	s.memory = append(s.memory, r.peakMemory())
	s.sites = append(s.sites, float64(len(session.Plan.Sites)))
}

func (s *startResults) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(s.start), "start-ms")
	b.ReportMetric(measure.Median(s.used), "start-cpu-ms")
	b.ReportMetric(measure.Median(s.stop), "stop-ms")
	b.ReportMetric(measure.Median(s.memory), "peak-MiB")
	b.ReportMetric(measure.Median(s.sites), "sites")
}

// dropCaches empties the page cache.
func dropCaches(b *testing.B) {
	b.Helper()
	syscall.Sync()
	if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0); err != nil {
		b.Skip(err)
	}
}
