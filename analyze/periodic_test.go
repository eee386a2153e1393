package analyze_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

const tenth = int64(100_000_000) // of a second

// The worked examples of CARET's documentation (records_service.md).
func TestPeriodsAndFrequencies(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer, other := s.timer(n, 10*tenth), s.timer(n, 20*tenth)
	for _, at := range []int64{0, 10, 20, 30} {
		s.runs(n, timer, at*tenth, at*tenth+1)
	}
	for _, at := range []int64{0, 1, 5, 12, 13, 23} {
		s.runs(n, other, at*tenth, at*tenth+1)
	}
	q := s.query(analyze.Filter{})
	var periods, counts []string
	results, err := q.Periods(t.Context(), analyze.Callbacks, false, func(instances []analyze.PeriodInstance) error {
		for _, i := range instances {
			if i.Callback == "/n/callback_0" {
				periods = append(periods, fmt.Sprintf("%d %d", i.Begin/tenth, i.Period/tenth))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, periods, "0 10", "10 10", "20 10")
	if results[1].Measure != analyze.MeasureLateness || results[1].Max.Value != 0 || results[1].Missed.Value != 0 {
		t.Errorf("a punctual timer is %+v", results[1])
	}
	_, err = q.Frequencies(t.Context(), analyze.Callbacks, false, analyze.Intervals{Length: 10 * tenth}, func(instances []analyze.FrequencyInstance) error {
		for _, i := range instances {
			if i.Callback == "/n/callback_1" {
				counts = append(counts, fmt.Sprintf("%d %d", i.Begin/tenth, i.Count))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, counts, "0 3", "10 2", "20 1")
}

// A timer that is late and leaves points of its grid out, with and without its init.
func TestLateness(t *testing.T) {
	for name, init := range map[string]trace.Optional[int64]{"init recorded": trace.Some(int64(1_000)), "init unknown": {}} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			n := s.node("/n")
			timer := s.timer(n, 100)
			s.rows.Timers[0].InitTimestamp = init
			for _, at := range []int64{1_105, 1_202, 1_310, 1_604} {
				s.runs(n, timer, at, at+1)
			}
			results, err := s.query(analyze.Filter{}).Periods(t.Context(), analyze.Callbacks, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			late := results[1]
			least := int64(2) // the grid is known
			if !init.Valid {
				least = 0
			}
			if late.Count != 4 || late.Min.Value != least || late.Max.Value != least+8 || late.Missed.Value != 2 {
				t.Errorf("got %+v", late)
			}
		})
	}
}

// TestLatenessOnUncertainGrid: where nothing tells when a timer was due, it is not known how late it was.
func TestLatenessOnUncertainGrid(t *testing.T) {
	for name, test := range map[string]struct {
		init    trace.Optional[int64]
		unknown bool
	}{
		"its init was recorded":     {init: trace.Some(int64(1_000))},
		"its init was not recorded": {unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			n := s.node("/n")
			timer := s.timer(n, 100*tenth)
			s.rows.Timers[0].InitTimestamp = test.init
			for _, at := range []int64{100, 200, 350} {
				s.runs(n, timer, at*tenth+1_000, at*tenth+1_001)
			}
			q := s.query(analyze.Filter{})
			results, err := q.Periods(t.Context(), analyze.Callbacks, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			late := results[1]
			if late.P99.Valid == test.unknown || late.Missed.Valid == test.unknown || !late.Rate.Valid {
				t.Errorf("got %+v", late)
			}
			warned := slices.ContainsFunc(q.Warnings, func(w string) bool { return strings.Contains(w, "it is not known how late they were") })
			if warned != test.unknown {
				t.Errorf("warnings are %q", q.Warnings)
			}
		})
	}
}

// The grid of a timer is known by its init, in whichever of several datasets that was recorded.
func TestLatenessInSeveralDatasets(t *testing.T) {
	const late = 3
	for name, offset := range map[string]int64{"one clock": 0, "clocks that differ": 40} {
		t.Run(name, func(t *testing.T) {
			former, latter := newRecording(t), newRecording(t)
			former.session.Host.BootID, latter.session.Host.BootID = "boot", "boot"
			former.session.Clock.RealtimeOffset, latter.session.Clock.RealtimeOffset = 1_000, 1_000+offset
			latter.key = processKey(200)
			n, other := former.node("/n"), latter.node("/other")
			timer, otherTimer := former.timer(n, 100), latter.timer(other, 70)
			former.rows.Timers[0].InitTimestamp = trace.Some(int64(1_000))
			latter.rows.Timers[0].InitTimestamp = trace.Some(1_000 + offset)
			for i := range int64(5) {
				former.runs(n, timer, 1_000+100*i+late, 1_000+100*i+late+1)
				latter.runs(other, otherTimer, 1_000+70*i+late+offset, 1_000+70*i+late+offset+1)
			}
			for _, datasets := range [][]*trace.Dataset{{former.write(), latter.write()}, {latter.write(), former.write()}} {
				results, err := newQuery(t, analyze.Filter{}, datasets...).Periods(t.Context(), analyze.Callbacks, false, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range []int{1, 3} {
					if l := results[i]; l.Count != 5 || l.Min.Value != late || l.Max.Value != late || l.Missed.Value != 0 {
						t.Errorf("%+v, want 5 starts, each %d late", l, late)
					}
				}
			}
		})
	}
}

// Simulated time runs at half the pace, and every node's clock hears of it.
func TestSimTime(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer := s.timer(n, 50)
	for _, at := range []int64{1000, 1200, 1400} {
		s.runs(n, timer, at, at+1)
		for clock := range trace.Address(2) {
			s.rows.SimTimes = append(s.rows.SimTimes, trace.SimTime{ProcessKey: s.key, Clock: clock + 1, UpdateTimestamp: at + int64(clock), SimTime: (at - 1000) / 2})
		}
	}
	var periods []int64
	_, err := s.query(analyze.Filter{}).Periods(t.Context(), analyze.Callbacks, true, func(instances []analyze.PeriodInstance) error {
		for _, i := range instances {
			periods = append(periods, i.Period)
		}
		return nil
	})
	if err != nil || !slices.Equal(periods, []int64{100, 100}) {
		t.Errorf("got %v, %v", periods, err)
	}
	s.rows.SimTimes = s.rows.SimTimes[:2]
	if _, err := s.query(analyze.Filter{}).Periods(t.Context(), analyze.Callbacks, true, nil); !errors.Is(err, analyze.ErrNothingSelected) {
		t.Errorf("without simulated time: %v", err)
	}
}

// A publisher that only rows name is told of by the topic and the node that they name.
func TestPeriodsOfUnknownPublisher(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	stranger := testPublisher{node: n, handle: s.address(), topic: "/topic"}
	for _, at := range []int64{0, 10, 20} {
		s.publishes(stranger, at*tenth, at*tenth+5, 0, 0)
	}
	for i := range s.rows.Publishes {
		s.rows.Publishes[i].TopicName, s.rows.Publishes[i].NodeName = "/topic", "/stranger"
	}
	results, err := s.query(analyze.Filter{}).Periods(t.Context(), analyze.Topics, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Topic != "/topic" || results[0].Node != "/stranger" || results[0].Count != 2 || results[0].Mean.Value != 10*tenth {
		t.Errorf("got %+v, want two periods of a second of /topic by /stranger", results)
	}
}
