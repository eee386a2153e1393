package summary

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// End is what is known of the end of a recording.
type End struct {
	// Session is nil where it cannot be read.
	Session *trace.Session
	// Live: it goes on. Killed: its recorder did not end it. Damaged: some of it cannot be read.
	Live, Killed, Damaged bool
}

// Reservation is what restricts a statement about what was lost.
type Reservation struct {
	// Uncertain says that something may have been lost that no row tells of.
	Uncertain bool
	// Text goes on behind "nothing was lost" or "nothing else"; it is empty where these can be said.
	Text string
}

// reservations are in the order in which less is known of what was lost.
var reservations = []struct {
	is func(*End) bool
	Reservation
}{
	{func(e *End) bool { return e.Session == nil || e.Killed || len(e.Session.Unstored) > 0 }, Reservation{true, " in what can be read; what was under way at the end is missing"}},
	{func(e *End) bool { return e.Live }, Reservation{true, " in what can be read; the recording goes on"}},
	{func(e *End) bool { return e.Session.Ending == trace.EndingError }, Reservation{true, " in what can be read; what was under way when the error came may be missing"}},
	{func(e *End) bool { return e.Damaged }, Reservation{true, " in what can be read"}},
	{func(e *End) bool { return e.Session.Snapshot != nil }, Reservation{true, " in this time, as far as it was known when the snapshot was made; what was under way then is missing"}},
	{func(e *End) bool { return e.Session.Undecided > 0 }, Reservation{true, " of what is known to be wanted; processes were over before it was known whether --name fits them"}},
	{func(e *End) bool { return e.Session.Removed != nil }, Reservation{false, " but what was removed"}},
}

// ReservationOf returns that of several recordings: of the one of which least is known.
func ReservationOf(all ...End) Reservation {
	for _, of := range reservations {
		if slices.ContainsFunc(all, func(e End) bool { return of.is(&e) }) {
			return of.Reservation
		}
	}
	return Reservation{}
}

// Reservation is what restricts a statement about what the dataset lost.
func (s *Summary) Reservation() Reservation {
	return ReservationOf(End{Session: s.Session, Live: s.Live, Killed: s.Killed, Damaged: len(s.Damaged) > 0})
}
