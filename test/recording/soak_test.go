package recording

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/trace"
)

// isSoak says that the tests of faults are to take their long forms (make soak).
func isSoak() bool { return os.Getenv("CARET_BPF_SOAK") != "" }

// often is how often something is done: long with make soak.
func often(short, long int) int {
	if isSoak() {
		return long
	}
	return short
}

// tried says how often a test has tried something, in the form that tools/trials reads.
func tried(t *testing.T, trials int) {
	t.Helper()
	t.Logf("tried: trials=%d", trials)
}

// killsVariable is how many recorders TestKilledAtAnyMoment kills, with -short, too: in emulated machines.
const killsVariable = "CARET_BPF_KILLS"

// kills is how many recorders are killed.
func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv(killsVariable)
	if text == "" {
		requireLong(t)
		return often(3, 100)
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("%s=%s", killsVariable, text)
	}
	return count
}

// TestKilledAtAnyMoment kills recorders at random moments, of recordings on disk and in memory. What they have closed
// can be read, the target is as it was and misses nothing, and of what was in memory nothing is left, nor of what the
// recorders had in the kernel, or started.
func TestKilledAtAnyMoment(t *testing.T) {
	requireRecording(t)
	times := kills(t)
	for _, ring := range []bool{true, false} {
		t.Run(fmt.Sprintf("in memory %v", ring), func(t *testing.T) {
			n := startReadyNode(t, oneLayout, busy)
			readable := 0
			// The first recorder dies when it has written something; of the others each dies at a moment of its own,
			// about as often before that as after it, however fast the machine is.
			var first time.Duration
			had := map[belonging]bool{}
			for i := range times {
				configuration := session.Configuration{PIDs: n.pidText(), SegmentPeriod: 100 * time.Millisecond}
				if ring {
					configuration.RingAge = time.Second
					configuration.Triggers = []string{"callback over=1ns before=200ms after=0s cooldown=100ms per-day=1000"}
				}
				recorder := startRecorder(t, configuration)
				if i == 0 {
					first = recorder.waitUntilWritten()
				} else {
					time.Sleep(rand.N(2 * first))
				}
				maps.Copy(had, recorder.belongings())
				recorder.kill()
				waitForOwnText(t, n.PID())
				for _, dir := range recorder.datasets() {
					requireReadable(t, dir)
					readable++
				}
			}
			kinds := map[string]int{}
			for b := range had {
				kinds[b.kind]++
			}
			tried(t, times)
			t.Logf("%d datasets were read; the recorders had %v", readable, kinds)
			if kinds[ofProgram] == 0 || kinds[ofMap] == 0 || kinds[ofLink] == 0 {
				t.Error("the recorders had nothing in the kernel")
			}
			waitUntilGone(t, had)
			n.stop()
		})
	}
}

// datasets returns the datasets that a recorder has begun so far: its own and its snapshots.
func (r *recorder) datasets() []string {
	r.t.Helper()
	begun := []string{}
	for _, pattern := range []string{trace.SessionFile, filepath.Join("*", trace.SessionFile)} {
		found, err := filepath.Glob(filepath.Join(r.dir, pattern))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, file := range found {
			begun = append(begun, filepath.Dir(file))
		}
	}
	return begun
}

// waitUntilWritten waits until a recorder has begun a dataset, and returns how long that took.
func (r *recorder) waitUntilWritten() time.Duration {
	r.t.Helper()
	began := time.Now()
	for len(r.datasets()) == 0 {
		if time.Since(began) > patience {
			r.t.Fatal("the recorder wrote nothing")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// requireReadable requires that all segments of a dataset can be read.
func requireReadable(t *testing.T, dir string) {
	t.Helper()
	d, err := trace.Open(dir)
	if err != nil {
		t.Error(err)
		return
	}
	for _, table := range trace.Registry() {
		if err := table.Read(t.Context(), d, new(trace.Batch)); err != nil {
			t.Errorf("%s: %v", table.Name, err)
		}
	}
}
