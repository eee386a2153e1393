package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/testdata/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// BenchmarkRate lets threads of a stand-in publish from timer callbacks as fast as they can while they are recorded, and measures how many
// merged records a second come out, how many are lost, what processor time the recorder takes for a million of them, and its memory. Targets and
// recorder share the machine's cores.
func BenchmarkRate(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("recording needs root")
	}
	for _, distro := range standin.Distros() {
		for _, threads := range []int{1, 2, 4, 8} {
			b.Run(fmt.Sprintf("%s/threads=%d", distro, threads), func(b *testing.B) {
				var rates, lost, costs []float64
				for b.Loop() {
					rate, losses, cost := recordAtFullRate(b, distro, threads)
					rates, lost, costs = append(rates, rate), append(lost, losses), append(costs, cost)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(rates), "records/s")
				b.ReportMetric(median(lost), "lost/s")
				b.ReportMetric(median(costs), "cpu-s/million")
				b.ReportMetric(peakMemory(b), "peak-MiB")
			})
		}
	}
}

// fullRateSpan is how long is recorded.
const fullRateSpan = 3 * time.Second

// recordAtFullRate returns merged and lost records a second, and the recorder's processor seconds for a million merged ones.
func recordAtFullRate(b *testing.B, distro string, threads int) (rate, lost, cost float64) {
	b.Helper()
	flags := fmt.Sprintf("--publish-only --rate 0 --topics %d --threads %d", threads, threads)
	n := standin.StartReady(b, standin.Config{Distro: distro, RMW: standin.CycloneDDS, Arguments: strings.Fields(flags)})
	defer n.Kill()
	dir := filepath.Join(b.TempDir(), "recording")
	stop := recordMeanwhile(b, session.Configuration{PIDs: fmt.Sprint(n.PID()), Output: dir})
	start, before := time.Now(), processorTime(b)
	time.Sleep(fullRateSpan)
	n.Kill()
	stop()
	used, took := processorTime(b)-before, time.Since(start)
	data, err := trace.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	var merged, losses uint64
	for _, table := range []string{trace.TableCallback, trace.TablePublish, trace.TableTake, trace.TableEnqueue} {
		merged += data.Session().Rows[table]
	}
	for _, loss := range data.Session().Losses {
		losses += loss.Count
	}
	if merged == 0 {
		b.Fatal("nothing was recorded")
	}
	return float64(merged) / min(took, fullRateSpan).Seconds(), float64(losses) / fullRateSpan.Seconds(), used.Seconds() / float64(merged) * 1e6
}

// processorTime is what this process, which records, has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakMemory is the most memory that this process ever had resident, in MiB.
func peakMemory(b *testing.B) float64 {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Maxrss) / 1024
}
