package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/testdata/standin"
)

// BenchmarkAddedTime measures the processor time that a recording adds on a thread that executes timer callbacks as fast as it can, each
// without and with a publish: with probes at the first instructions of functions, and at the cheapest instructions. All are measured in turn, so
// that what else the machine does concerns them alike.
func BenchmarkAddedTime(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("recording needs root")
	}
	for _, distro := range standin.Distros() {
		for name, flags := range map[string]string{
			"callback": "--publish-only --rate 0 --count 1", "callback_and_publish": "--publish-only --rate 0",
		} {
			b.Run(distro+"/"+name, func(b *testing.B) {
				var untraced, entries, cheap []float64
				for b.Loop() {
					untraced = append(untraced, timePerCallback(b, distro, flags, nil))
					entries = append(entries, timePerCallback(b, distro, flags, &session.Configuration{Sites: session.SitesEntries}))
					cheap = append(cheap, timePerCallback(b, distro, flags, &session.Configuration{Sites: session.SitesCallers}))
				}
				addedAtEntries, added := median(entries)-median(untraced), median(cheap)-median(untraced)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(untraced), "untraced-ns")
				b.ReportMetric(addedAtEntries, "entries-added-ns")
				b.ReportMetric(added, "cheap-added-ns")
				b.ReportMetric(addedAtEntries/added, "entries/cheap")
			})
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// measured is how long a thread is observed.
const measured = 700 * time.Millisecond

// timePerCallback returns the processor time in nanoseconds that a node's thread takes for a callback and what is in it, while it is recorded
// if a configuration is given.
func timePerCallback(b *testing.B, distro, flags string, configuration *session.Configuration) float64 {
	b.Helper()
	n := standin.StartReady(b, standin.Config{Distro: distro, RMW: standin.CycloneDDS, Arguments: strings.Fields(flags)})
	if configuration != nil {
		configuration.PIDs = fmt.Sprint(n.PID())
		configuration.Output = filepath.Join(b.TempDir(), "recording")
		configuration.BufferBytes = 256 << 20
		defer recordMeanwhile(b, *configuration)()
	}
	start, startTime := monotonic(), threadTime(b, n.PID())
	time.Sleep(measured)
	endTime, end := threadTime(b, n.PID()), monotonic()
	callbacks := 0
	for _, e := range n.Stop().Callbacks {
		if e.Start.Before >= start && e.Start.Before < end {
			callbacks++
		}
	}
	if callbacks < 100 {
		b.Fatalf("%d callbacks", callbacks)
	}
	return float64(endTime-startTime) / float64(callbacks)
}

// recordMeanwhile records until what it returns is called.
func recordMeanwhile(b *testing.B, configuration session.Configuration) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	opened, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- session.Run(ctx, configuration, session.Options{Observer: session.Observer{Recording: func() { close(opened) }}})
	}()
	select {
	case <-opened:
	case err := <-ended:
		b.Fatal(err)
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

// threadTime returns the processor time of a process's first thread, in nanoseconds.
func threadTime(b *testing.B, pid int) (nanoseconds uint64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &nanoseconds); err != nil {
		b.Fatal(err)
	}
	return nanoseconds
}
