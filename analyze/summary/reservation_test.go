package summary_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
)

func TestReservation(t *testing.T) {
	ended := new(trace.Session)
	removed := summary.End{Session: &trace.Session{Removed: new(trace.Removed)}}
	for name, test := range map[string]struct {
		ends []summary.End
		want summary.Reservation
	}{
		"in order":          {[]summary.End{{Session: ended}}, summary.Reservation{}},
		"without a session": {[]summary.End{{}}, summary.Reservation{Uncertain: true, Text: " in what can be read; what was under way at the end is missing"}},
		"going on":          {[]summary.End{{Session: ended, Live: true}}, summary.Reservation{Uncertain: true, Text: " in what can be read; the recording goes on"}},
		"damaged":           {[]summary.End{{Session: ended, Damaged: true}}, summary.Reservation{Uncertain: true, Text: " in what can be read"}},
		"not known whether it is wanted": {[]summary.End{removed, {Session: &trace.Session{Undecided: 1}}}, summary.Reservation{
			Uncertain: true, Text: " of what is known to be wanted; processes were over before it was known whether --name fits them",
		}},
		"removed":            {[]summary.End{removed}, summary.Reservation{Text: " but what was removed"}},
		"the worst of three": {[]summary.End{removed, {Session: ended}, {Session: ended, Damaged: true}}, summary.Reservation{Uncertain: true, Text: " in what can be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := summary.ReservationOf(test.ends...); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
