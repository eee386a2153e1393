package analyze

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxErrorStep is by how much the kernel lets max_error grow each second, in nanoseconds.
	maxErrorStep = 500_000
	// maxErrorShare is the same, as one of so many parts of the time: 500 ppm.
	maxErrorShare = 2000
)

// realTimeError tells how far real time of a host may be off, where it is interpolated between measurements. Times are
// real times.
type realTimeError struct {
	measured []trace.Clock
	at       []int64 // of measured
	// steppedBack: of some times it is not known between which measurements they are. The worst of all counts then.
	steppedBack bool
	// why says why nothing bounds it, at least at some time; "" if something always does.
	why string
}

// Why nothing is known of how well a host's clock is synchronized.
const (
	syncUnread = "nothing was recorded of how well it is synchronized"
	syncNone   = "it was not synchronized"
	syncUntold = "what synchronizes it tells the kernel no bound, as systemd-timesyncd and phc2sys do"
)

func newRealTimeError(h *clockHost) *realTimeError {
	e := &realTimeError{measured: slices.Clone(h.measured)}
	if len(e.measured) == 0 {
		e.why = syncUnread
	}
	told := false
	for i := range e.measured {
		m := &e.measured[i]
		e.at = append(e.at, m.MonotonicTimestamp+m.RealtimeOffset)
		switch {
		case !m.MaxError.Valid || !m.Synchronized.Valid:
			e.why = syncUnread
		case !m.Synchronized.Value:
			e.why = syncNone
		case m.MaxError.Value%maxErrorStep != 0:
			told = true
		}
	}
	e.steppedBack = !slices.IsSorted(e.at)
	if e.why == "" && !told {
		e.why = syncUntold
		for i := range e.measured {
			e.measured[i].MaxError = trace.Optional[int64]{}
		}
	}
	return e
}

// ofFollowing bounds by how much real time differs from what is interpolated at that time: between two measurements it
// may have been stepped at any moment.
func (e *realTimeError) ofFollowing(at int64) (worst int64) {
	e.eachSpan(at, func(before, behind *trace.Clock, _ int64) {
		step := abs(behind.RealtimeOffset - before.RealtimeOffset)
		worst = max(worst, max(before.Uncertainty, behind.Uncertainty)+step)
	})
	return worst
}

// ofSynchronization bounds by how much real time of the host differs from true time at that time, by what the kernel
// was told; null where nothing does. Until the kernel was told anew its own bound has grown.
func (e *realTimeError) ofSynchronization(at int64) (worst trace.Optional[int64]) {
	worst.Valid = len(e.measured) > 0
	e.eachSpan(at, func(before, behind *trace.Clock, since int64) {
		if !isBounded(before) || !isBounded(behind) {
			worst.Valid = false
			return
		}
		bound := max(behind.MaxError.Value, before.MaxError.Value+since/maxErrorShare)
		worst.Value = max(worst.Value, bound+maxErrorStep) // which the kernel adds only when a second is over
	})
	if !worst.Valid {
		return trace.Optional[int64]{}
	}
	return worst
}

func isBounded(m *trace.Clock) bool { return m.Synchronized.Value && m.MaxError.Valid }

// eachSpan passes on the measurements before and behind a time, and how long the first one is ago: twice the nearest
// one outside of all. Where the clock was stepped back it passes on all spans.
func (e *realTimeError) eachSpan(at int64, each func(before, behind *trace.Clock, since int64)) {
	if len(e.measured) == 0 {
		return
	}
	if e.steppedBack {
		for i := range e.measured {
			before := max(i-1, 0)
			each(&e.measured[before], &e.measured[i], abs(e.measured[i].MonotonicTimestamp-e.measured[before].MonotonicTimestamp))
		}
		return
	}
	i, _ := slices.BinarySearch(e.at, at)
	before, behind := max(i-1, 0), min(i, len(e.at)-1)
	each(&e.measured[before], &e.measured[behind], abs(at-e.at[before]))
}
