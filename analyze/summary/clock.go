package summary

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// stepLimit is the least change of real time between two measurements that is called a step. NTP slews by 0.05 % at
// most, which is less over the time between measurements.
const stepLimit = 10 * time.Millisecond

// RealTime is what the kernel knew of the synchronization of real time while recording.
type RealTime struct {
	// Asked is how often it told. It is asked once a second, and tells nothing where a filter of system calls forbids it.
	Asked int `json:"asked"`
	// Synchronized is how often real time was synchronized.
	Synchronized int `json:"synchronized"`
	// MaxError bounds how far real time was off whenever it was synchronized, in nanoseconds, by what whoever sets the
	// clock has told the kernel; null if that told no bound, or real time was never synchronized.
	MaxError trace.Optional[int64] `json:"max_error"`
}

// clocks reads the measurements of the clocks: when real time jumped, and how well it was synchronized.
func (s *summarizer) clocks(ctx context.Context) error {
	var clocks []trace.Clock
	err := trace.Scan(ctx, s.dataset, trace.TableClock, func(rows []trace.Clock) error {
		clocks = append(clocks, rows...)
		return nil
	})
	slices.SortFunc(clocks, func(a, b trace.Clock) int { return cmp.Compare(a.MonotonicTimestamp, b.MonotonicTimestamp) })
	told := false
	for i := range clocks {
		told = told || clocks[i].HasToldError()
		at := clocks[i].MonotonicTimestamp + clocks[0].RealtimeOffset
		if !s.covers(at) {
			continue
		}
		if i > 0 {
			s.noteStep(&clocks[i-1], &clocks[i], at)
		}
		s.noteSynchronization(&clocks[i])
	}
	if !told {
		s.result.RealTime.MaxError = trace.Optional[int64]{}
	}
	return err
}

// noteStep notes that real time has jumped between two measurements, the later of which was made at that time.
func (s *summarizer) noteStep(before, behind *trace.Clock, at int64) {
	step := behind.RealtimeOffset - before.RealtimeOffset
	slewed := (behind.MonotonicTimestamp - before.MonotonicTimestamp) / 2000
	if abs := max(step, -step); abs > int64(stepLimit)+slewed {
		s.result.ClockSteps = append(s.result.ClockSteps, ClockStep{Timestamp: at, Nanoseconds: step})
	}
}

func (s *summarizer) noteSynchronization(c *trace.Clock) {
	of := &s.result.RealTime
	if !c.Synchronized.Valid {
		return
	}
	of.Asked++
	if !c.Synchronized.Value {
		return
	}
	of.Synchronized++
	if c.MaxError.Valid {
		of.MaxError = trace.Some(max(of.MaxError.Value, c.MaxError.Value))
	}
}
