package loader

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// CalibrationArgument makes the recorder's own program the process that Calibrate probes: it must call BecomeCalibrated
// when this is its first argument.
const CalibrationArgument = "__become-calibrated"

// runStub calls a function of stubAddresses.
func runStub(address uintptr, times int)

// A callback begins at one nop and ends at another.
const (
	startNop = "nop"
	endNop   = "other nop"
)

// Rounds are short and many: their median is not moved by what else the machine does.
const (
	calibrationRounds = 41
	hitsPerRound      = 250
)

// timings are medians of the time that one call of a function takes, by the kind of instruction that it begins with. A
// callback is the calls of the two functions at which it begins and ends.
type timings map[string]time.Duration

// What a calibrated process is told to measure.
const (
	measureStubs     = "stubs"
	measureCallbacks = "callbacks"
	callback         = "callback" // the key of its timing
)

// BecomeCalibrated measures what each line of in says, and writes the timings to out.
func BecomeCalibrated(in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var addresses [len(stubKinds)]uintptr
	stubAddresses(&addresses)
	encoder := json.NewEncoder(out)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		measured := timings{}
		switch lines.Text() {
		case measureStubs:
			measured = timeStubs(addresses)
		case measureCallbacks:
			measured = timeCallbacks(addresses)
		}
		if err := encoder.Encode(measured); err != nil {
			return fmt.Errorf("telling timings: %w", err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("waiting to be measured: %w", err)
	}
	return nil
}

// timeStubs measures all functions in turn, so that what else the machine does concerns them alike.
func timeStubs(addresses [len(stubKinds)]uintptr) timings {
	rounds := make(map[string][]time.Duration)
	for range calibrationRounds {
		for i, kind := range stubKinds {
			began := threadTime()
			runStub(addresses[i], hitsPerRound)
			rounds[kind] = append(rounds[kind], time.Duration(threadTime()-began))
		}
	}
	result := timings{}
	for kind, durations := range rounds {
		result[kind] = medianOf(durations) / hitsPerRound
	}
	return result
}

func timeCallbacks(addresses [len(stubKinds)]uintptr) timings {
	start, end := addresses[slices.Index(stubKinds[:], startNop)], addresses[slices.Index(stubKinds[:], endNop)]
	var rounds []time.Duration
	for range calibrationRounds {
		began := threadTime()
		for range hitsPerRound {
			runStub(start, 1)
			runStub(end, 1)
		}
		rounds = append(rounds, time.Duration(threadTime()-began))
	}
	return timings{callback: medianOf(rounds) / hitsPerRound}
}

// threadTime returns the processor time of this thread in nanoseconds: what other threads take meanwhile does not
// count.
func threadTime() int64 {
	var now unix.Timespec
	// It cannot fail: the clock exists on every Linux and the address is valid.
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return now.Nano()
}

func medianOf(durations []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(durations))[len(durations)/2]
}
