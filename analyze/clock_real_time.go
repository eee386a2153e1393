package analyze

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxErrorShare is trace.MaxErrorStep as one of so many parts of the time: 500 ppm.
const maxErrorShare = 2000

// realTimeError tells how far real time of a host may be off, where it is interpolated between measurements. Times are
// real times.
type realTimeError struct {
	measured []trace.Clock
	at       []int64 // of measured
	// worst is what bounds all times; nil unless the clock was stepped back: of some times it is not known then between
	// which measurements they are.
	worst *realTimeBounds
	// why says why nothing bounds it, at least at some time; "" if something always does.
	why string
}

// realTimeBounds bound how far real time may be off at a time.
type realTimeBounds struct {
	// following is by how much it differs from what is interpolated, and synchronization by how much from true time:
	// null where nothing bounds that.
	following       int64
	synchronization trace.Optional[int64]
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
		case m.HasToldError():
			told = true
		}
	}
	if e.why == "" && !told {
		e.why = syncUntold
		for i := range e.measured {
			e.measured[i].MaxError = trace.Optional[int64]{}
		}
	}
	if !slices.IsSorted(e.at) {
		e.worst = e.worstBounds()
	}
	return e
}

// ofFollowing bounds by how much real time differs from what is interpolated at that time.
func (e *realTimeError) ofFollowing(at int64) int64 { return e.bounds(at).following }

// ofSynchronization bounds by how much real time of the host differs from true time at that time, by what the kernel
// was told; null where nothing does.
func (e *realTimeError) ofSynchronization(at int64) trace.Optional[int64] {
	return e.bounds(at).synchronization
}

// bounds are those between the measurements before and behind a time: twice the nearest one outside of all.
func (e *realTimeError) bounds(at int64) realTimeBounds {
	if e.worst != nil {
		return *e.worst
	}
	if len(e.measured) == 0 {
		return realTimeBounds{}
	}
	i, _ := slices.BinarySearch(e.at, at)
	before, behind := max(i-1, 0), min(i, len(e.at)-1)
	return boundsBetween(&e.measured[before], &e.measured[behind], abs(at-e.at[before]))
}

// worstBounds are the worst of those between all measurements.
func (e *realTimeError) worstBounds() *realTimeBounds {
	worst := &realTimeBounds{synchronization: trace.Some(int64(0))}
	for i := range e.measured {
		before := max(i-1, 0)
		of := boundsBetween(&e.measured[before], &e.measured[i], e.measured[i].MonotonicTimestamp-e.measured[before].MonotonicTimestamp)
		worst.following = max(worst.following, of.following)
		if !of.synchronization.Valid || !worst.synchronization.Valid {
			worst.synchronization = trace.Optional[int64]{}
			continue
		}
		worst.synchronization.Value = max(worst.synchronization.Value, of.synchronization.Value)
	}
	return worst
}

// boundsBetween are those between two measurements, so long since the first one. Real time may have been stepped at any
// moment, and until the kernel was told anew its own bound has grown.
func boundsBetween(before, behind *trace.Clock, since int64) realTimeBounds {
	of := realTimeBounds{following: max(before.Uncertainty, behind.Uncertainty) + abs(behind.RealtimeOffset-before.RealtimeOffset)}
	if isBounded(before) && isBounded(behind) {
		bound := max(behind.MaxError.Value, before.MaxError.Value+since/maxErrorShare)
		of.synchronization = trace.Some(bound + trace.MaxErrorStep) // which the kernel adds only when a second is over
	}
	return of
}

func isBounded(m *trace.Clock) bool { return m.Synchronized.Value && m.MaxError.Valid }
