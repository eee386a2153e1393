package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// A publisher publishes five messages. One is lost on the way to the first subscription, and the second one polls the
// newest, in the order in which they come.
func subjects(t *testing.T) *analyze.Query {
	s := newRecording(t)
	sensor, filter, viewer := s.node("/sensor"), s.node("/filter"), s.node("/viewer")
	points, in, polled := s.publisher(sensor, "/points", "aa"), s.subscription(filter, "/points"), s.subscription(viewer, "/points")
	for i := range int64(5) {
		at := 1000 + 100*i
		s.publishes(points, at, at+1, 0, 0)
		if i != 2 {
			s.receives(in, "aa", at+1, at+10+i, at+20)
		}
		if i%2 == 0 {
			s.polls(polled, "aa", at+1, at+50, 0, 0)
		}
	}
	return s.query(analyze.Filter{})
}

func TestPeriodsOfSubjects(t *testing.T) {
	for subject, want := range map[analyze.Subject][]string{
		analyze.Topics: {
			"/sensor /points  : 1000 100", "/sensor /points  : 1100 100", "/sensor /points  : 1200 100", "/sensor /points  : 1300 100",
		},
		analyze.Subscriptions: {
			"/filter /points  : 1010 101", "/filter /points  : 1111 202", "/filter /points  : 1313 101",
			"/viewer /points  : 1050 200", "/viewer /points  : 1250 200",
		},
		analyze.Communications: {
			"/sensor /points /filter inter_process: 1000 100", "/sensor /points /filter inter_process: 1100 200", "/sensor /points /filter inter_process: 1300 100",
			"/sensor /points /viewer inter_process: 1000 200", "/sensor /points /viewer inter_process: 1200 200",
		},
	} {
		t.Run(string(subject), func(t *testing.T) {
			var got []string
			_, err := subjects(t).Periods(t.Context(), subject, false, func(instances []analyze.PeriodInstance) error {
				for _, i := range instances {
					got = append(got, fmt.Sprintf("%s %s %s %s: %d %d", i.Node, i.Topic, i.SubscriptionNode, i.Transport, i.Begin, i.Period))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			wantLines(t, got, want...)
		})
	}
}

// Intervals begin with the first occurrence of each subject, or of any.
func TestCommonBase(t *testing.T) {
	for name, test := range map[string]struct {
		common bool
		want   []string
	}{
		"its own": {false, []string{"/filter 1010 2", "/filter 1210 1", "/filter 1410 1", "/viewer 1050 1", "/viewer 1250 1", "/viewer 1450 1"}},
		"common":  {true, []string{"/filter 1010 2", "/filter 1210 1", "/filter 1410 1", "/viewer 1010 1", "/viewer 1210 1", "/viewer 1410 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			_, err := subjects(t).Frequencies(t.Context(), analyze.Subscriptions, false, analyze.Intervals{Length: 200, Common: test.common}, func(instances []analyze.FrequencyInstance) error {
				for _, i := range instances {
					got = append(got, fmt.Sprintf("%s %d %d", i.Node, i.Begin, i.Count))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			wantLines(t, got, test.want...)
		})
	}
}

// A subject that ends long before the others has intervals without an occurrence.
func TestCommonBaseGoesOnToTheLast(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	early, late := s.timer(n, 50), s.timer(n, 60)
	s.runs(n, early, 100, 101)
	for at := int64(350); at < 1000; at += 300 {
		s.runs(n, late, at, at+1)
	}
	counts := make(map[string][]uint64)
	results, err := s.query(analyze.Filter{}).Frequencies(t.Context(), analyze.Callbacks, false, analyze.Intervals{Length: 300, Common: true}, func(instances []analyze.FrequencyInstance) error {
		for _, i := range instances {
			counts[i.Callback] = append(counts[i.Callback], i.Count)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint64{1, 0, 0}; !slices.Equal(counts["/n/callback_0"], want) || results[0].Intervals != 3 || results[0].Min != 0 {
		t.Errorf("the early timer ran %d times in the intervals, want %d; %+v", counts["/n/callback_0"], want, results[0])
	}
	if want := []uint64{1, 1, 1}; !slices.Equal(counts["/n/callback_1"], want) {
		t.Errorf("the late timer ran %d times in the intervals, want %d", counts["/n/callback_1"], want)
	}
}

// Empty intervals are counted without going through them, unless each is asked for; that ends with the question.
func TestManyEmptyIntervals(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer := s.timer(n, 50)
	s.runs(n, timer, 0, 1)
	s.runs(n, timer, 1, 2)
	s.runs(n, timer, 1<<60, 1<<60+1)
	q := s.query(analyze.Filter{})
	results, err := q.Frequencies(t.Context(), analyze.Callbacks, false, analyze.Intervals{Length: 2}, nil)
	if err != nil || len(results) != 1 || results[0].Intervals != 1<<59+1 || results[0].Min != 0 || results[0].Max != 1e9 || results[0].Count != 3 {
		t.Errorf("%+v, %v", results, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = q.Frequencies(ctx, analyze.Callbacks, false, analyze.Intervals{Length: 2}, func([]analyze.FrequencyInstance) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Two publishers of one topic in one node have rows of their own, in the order in which they began.
func TestPeriodsOfEqualNames(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	first, second := s.publisher(n, "/t", "aa"), s.publisher(n, "/t", "bb")
	for i := range int64(4) {
		s.publishes(first, 100+10*i, 100+10*i, 0, 0)
		s.publishes(second, 105+20*i, 105+20*i, 0, 0)
	}
	q := s.query(analyze.Filter{})
	for range 20 {
		results, err := q.Periods(t.Context(), analyze.Topics, false, nil)
		if err != nil || len(results) != 2 || results[0].Mean.Value != 10 || results[1].Mean.Value != 20 {
			t.Fatalf("%+v, %v", results, err)
		}
	}
}
