package session

import (
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/timesync"
	"github.com/caret-bpf/caret-bpf/trace"
)

// clockReadings is how often the offset is measured; the reading that took least time is the best.
const clockReadings = 15

// measureClock measures the offset of real time to CLOCK_MONOTONIC, the clock of the kernel's records: real time is
// read between two readings of the monotonic clock.
func measureClock() trace.Clock {
	var best trace.Clock
	for i := range clockReadings {
		before := readClock(unix.CLOCK_MONOTONIC)
		realtime := readClock(unix.CLOCK_REALTIME)
		after := readClock(unix.CLOCK_MONOTONIC)
		monotonic := before + (after-before)/2
		reading := trace.Clock{
			MonotonicTimestamp: monotonic,
			RealtimeTimestamp:  realtime,
			RealtimeOffset:     realtime - monotonic,
			Uncertainty:        (after - before + 1) / 2,
		}
		if i == 0 || reading.Uncertainty < best.Uncertainty {
			best = reading
		}
	}
	return best
}

// clockMeter measures for table clock.
type clockMeter struct {
	sync *timesync.Reader
}

func newClockMeter() *clockMeter { return &clockMeter{sync: timesync.NewReader()} }

// measure measures the offset, and notes how well real time is synchronized.
func (m *clockMeter) measure() trace.Clock {
	row := measureClock()
	if state, ok := m.sync.Read(); ok {
		row.Synchronized, row.SyncStatus = trace.Some(state.Synchronized), trace.Some(state.Status)
		row.MaxError, row.EstimatedError = trace.Some(state.MaxError), trace.Some(state.EstimatedError)
		row.RemainingAdjustment, row.TAIOffset = trace.Some(state.Remaining), trace.Some(state.TAI)
		row.Frequency, row.Tick = trace.Some(state.Frequency), trace.Some(state.Tick)
	}
	return row
}

// datasetClock is the clock of the dataset: real time, at a distance from CLOCK_MONOTONIC that was measured once.
type datasetClock struct{ trace.Clock }

// now is the present on it.
func (c datasetClock) now() int64 { return readClock(unix.CLOCK_MONOTONIC) + c.RealtimeOffset }

// readClock returns a clock of the system in nanoseconds.
func readClock(clock int32) int64 {
	var now unix.Timespec
	// It cannot fail: both clocks exist on every Linux and the address is valid.
	_ = unix.ClockGettime(clock, &now)
	return now.Nano()
}
