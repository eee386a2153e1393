package recording

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// ownClock is set where the machine's clock is nobody else's: in the emulated ones of scripts/vm.
const ownClock = "CARET_BPF_OWN_CLOCK"

// TestClockStep sets the clock forth and back while a node is recorded. The steps are in table clock, by the time when
// they are looked for, and nothing else of the recording changes: its times are monotonic.
func TestClockStep(t *testing.T) {
	requireRecording(t)
	if os.Getenv(ownClock) == "" {
		t.Skipf("it sets the machine's clock, and does so only with %s=1", ownClock)
	}
	n := startReadyNode(t, oneLayout, "--nodes 2 --topics 2 --rate 50")
	r := record(t, session.Configuration{PIDs: n.pidText()})
	steps := []time.Duration{90 * time.Second, -90 * time.Second}
	for _, step := range steps {
		r.waitForMoreRows(trace.TableCallback, 100)
		stepClock(t, step)
		r.waitForMoreRows(trace.TableClock, 2)
	}
	data := r.stop()
	r.requireExact(data, n.stop(), oracle.Circumstances{Found: true})
	recorded, err := summary.Of(t.Context(), tracetest.Open(t, r.dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded.ClockSteps) != len(steps) {
		t.Fatalf("the steps were %v, and are %+v", steps, recorded.ClockSteps)
	}
	for i, step := range recorded.ClockSteps {
		if off := time.Duration(step.Nanoseconds) - steps[i]; off.Abs() > 100*time.Millisecond {
			t.Errorf("a step of %v is one of %v", steps[i], time.Duration(step.Nanoseconds))
		}
	}
}

// stepClock sets real time forth, or back.
func stepClock(t *testing.T, by time.Duration) {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		t.Fatal(err)
	}
	set := unix.NsecToTimespec(now.Nano() + by.Nanoseconds())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &set); err != nil {
		t.Fatal(err)
	}
}
