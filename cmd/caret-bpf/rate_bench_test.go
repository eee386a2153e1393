package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// rateSpan is how long a rate must be held without a loss.
	rateSpan = 3 * time.Second
	// rateSteps is how often the interval is halved that the highest rate held lies in.
	rateSteps = 4
)

// load is what the threads of a stand-in do.
type load struct {
	name, flags string
	// records is how many there are of a callback.
	records float64
}

var loads = []load{
	{"callback_and_publish", "--publish-only", 2},
	{"callback", "--publish-only --count 1", 1},
}

// BenchmarkRate searches the highest rate that is recorded for some seconds without a loss, with the default ring
// buffer: at first threads of a stand-in execute callbacks as fast as they can. If something is lost the rate is halved
// and so on. What the rate costs the recorder, which is a process of its own, is reported, and what processor time a
// callback takes the target: at that rate, and past any limit, while the recorder is stopped and the ring buffer stays
// full. Target and recorder share the machine's cores.
func BenchmarkRate(b *testing.B) {
	requireRecordingBench(b)
	program := measure.CopySelf(b, b.TempDir(), "caret-bpf")
	for _, distro := range standin.Distros() {
		for _, l := range loads {
			for _, threads := range []int{1, 2, 4, 8} {
				b.Run(fmt.Sprintf("%s/%s/threads=%d", distro, l.name, threads), func(b *testing.B) {
					var results rateResults
					for b.Loop() {
						r := rateRun{b: b, program: program, distro: distro, load: l, threads: threads}
						full := r.measure(0, false)
						results.full = append(results.full, full)
						results.held = append(results.held, r.highestHeld(full))
						results.past = append(results.past, r.measure(0, true))
					}
					results.report(b)
				})
			}
		}
	}
}

// rateRun is a target to be recorded at several rates.
type rateRun struct {
	b       *testing.B
	program string
	distro  string
	load    load
	threads int
}

// rateResult is what one recording came to.
type rateResult struct {
	records, lost float64 // a second
	cost          float64 // seconds of the recorder's processor time for a million records
	memory        float64 // of the recorder, MiB
	callback      float64 // nanoseconds of the target's processor time for a callback and what is in it
}

// highestHeld returns the result at the highest rate without a loss, none if there is no such rate.
func (r rateRun) highestHeld(full rateResult) rateResult {
	if full.lost == 0 {
		return full
	}
	var held rateResult
	low, high := 0.0, (full.records+full.lost)/r.load.records/float64(r.threads)
	for range rateSteps {
		middle := (low + high) / 2
		if result := r.measure(middle, false); result.lost == 0 {
			low, held = middle, result
		} else {
			high = middle
		}
	}
	return held
}

// measure records callbacks at a rate for each thread, 0 for as fast as they can, and stops the recorder for that time
// if it is to be starved.
func (r rateRun) measure(rate float64, starved bool) rateResult {
	r.b.Helper()
	flags := fmt.Sprintf("%s --rate %g --topics %d --threads %d", r.load.flags, rate, r.threads, r.threads)
	n := standin.StartReady(r.b, standin.Config{Distro: r.distro, RMW: standin.CycloneDDS, Arguments: strings.Fields(flags), NoGroundTruth: true})
	defer n.Kill()
	// Otherwise bodies would be probed beside their callers for the first seconds.
	recording := startMeasured(r.b, r.program, n.PID(), "--sites", "callers")
	recording.awaitRecording()
	if starved {
		recording.signal(syscall.SIGSTOP)
	}
	recorder := recording.command.Process.Pid
	start, target, used := time.Now(), processorTime(r.b, n.PID()), processorTime(r.b, recorder)
	time.Sleep(rateSpan)
	target, used = processorTime(r.b, n.PID())-target, processorTime(r.b, recorder)-used
	took := time.Since(start).Seconds()
	if starved {
		recording.signal(syscall.SIGCONT)
	}
	session := recording.stop()
	span := entered(r.b, session, trace.StateFlushing).Sub(entered(r.b, session, trace.StateRecording)).Seconds()

	var records, lost, callbacks float64
	for _, table := range []string{trace.TableCallback, trace.TablePublish, trace.TableTake, trace.TableEnqueue} {
		records += float64(session.Rows[table])
	}
	callbacks = float64(session.Rows[trace.TableCallback])
	for _, loss := range session.Losses {
		lost += float64(loss.Count)
		if loss.Kind == trace.LostCallback {
			callbacks += float64(loss.Count)
		}
	}
	if records == 0 {
		r.b.Fatal("nothing was recorded")
	}
	return rateResult{
		records: records / span, lost: lost / span, memory: recording.peakMemory(),
		cost:     used.Seconds() / took / (records / span) * 1e6,
		callback: target.Seconds() / took / (callbacks / span) * 1e9,
	}
}

// rateResults are those of several runs.
type rateResults struct{ full, held, past []rateResult }

func (r rateResults) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	metric := func(results []rateResult, name string, value func(rateResult) float64) {
		var values []float64
		for _, result := range results {
			values = append(values, value(result))
		}
		b.ReportMetric(measure.Median(values), name)
	}
	metric(r.full, "full-records/s", func(r rateResult) float64 { return r.records })
	metric(r.full, "full-lost/s", func(r rateResult) float64 { return r.lost })
	metric(r.held, "held-records/s", func(r rateResult) float64 { return r.records })
	metric(r.held, "cpu-s/million", func(r rateResult) float64 { return r.cost })
	metric(r.held, "peak-MiB", func(r rateResult) float64 { return r.memory })
	metric(r.held, "target-ns/callback", func(r rateResult) float64 { return r.callback })
	metric(r.past, "past-records/s", func(r rateResult) float64 { return r.records })
	metric(r.past, "past-lost/s", func(r rateResult) float64 { return r.lost })
	metric(r.past, "past-target-ns/callback", func(r rateResult) float64 { return r.callback })
}
