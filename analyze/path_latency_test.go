package analyze_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// A sensor, a filter that drops one message, and an actuator that polls; one message is lost on the way.
func pathSystem(t *testing.T) *recording {
	s := newRecording(t)
	sensor, filter, actuator := s.node("/sensor"), s.node("/filter"), s.node("/actuator")
	points, sub := s.publisher(sensor, "/points", "aa"), s.subscription(filter, "/points")
	objects, polled := s.publisher(filter, "/objects", "bb"), s.subscription(actuator, "/objects")
	timer := s.timer(sensor, 100)
	for i := range int64(5) {
		at := 1000 + 100*i
		s.runs(sensor, timer, at, at+5)
		s.publishes(points, at+1, at+2, timer, at)
		if i == 2 {
			continue // lost
		}
		s.receives(sub, "aa", at+2, at+11, at+40)
		if i == 3 {
			continue // filtered out
		}
		s.publishes(objects, at+31, at+32, sub.callback, at+11)
		s.polls(polled, "bb", at+32, at+61, 0, 0)
	}
	return s
}

func TestPathLatency(t *testing.T) {
	for name, text := range map[string]string{"by topics": "", "explicitly": "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]"} {
		t.Run(name, func(t *testing.T) {
			q := pathSystem(t).query(analyze.Filter{})
			if err := q.LoadActivity(t.Context()); err != nil {
				t.Fatal(err)
			}
			paths, _, err := q.Architecture.Paths(t.Context(), system.PathQuery{From: "/points", To: "/objects"})
			if text != "" {
				paths, err = q.Architecture.FindPaths(text)
			}
			if err != nil || len(paths) != 1 {
				t.Fatalf("%d paths, %v", len(paths), err)
			}
			var instances []analyze.PathHopInstance
			hops, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{}, func(more []analyze.PathHopInstance) error {
				instances = append(instances, more...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want := []struct {
				kind              analyze.HopKind
				mean              int64
				count             uint64
				messages, dropped uint64
			}{{analyze.HopPath, 60, 3, 5, 2}, {analyze.HopCommunication, 10, 3, 5, 1}, {analyze.HopNode, 20, 3, 4, 1}, {analyze.HopCommunication, 30, 3, 3, 0}}
			if len(hops) != len(want) {
				t.Fatalf("%d hops: %+v", len(hops), hops)
			}
			for i, w := range want {
				if h := hops[i]; h.Hop != i || h.Kind != w.kind || h.Mean.Value != w.mean || h.Count != w.count || h.Messages != w.messages || h.Dropped != w.dropped {
					t.Errorf("hop %d is %+v, want %+v", i, h, w)
				}
			}
			if len(instances) != 3*4 || instances[4].Begin != 1101 || instances[4].End.Value != 1161 || instances[7].Begin != 1131 || instances[7].Latency.Value != 30 {
				t.Errorf("the instances are %+v", instances)
			}
		})
	}
}

// Each message of a node leads to two: the ways are twice as many as the messages that set out.
func TestMessagesAreCountedOnce(t *testing.T) {
	for name, within := range map[string]bool{"in the callback": true, "by the latest message": false} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			sensor, filter, actuator := s.node("/sensor"), s.node("/filter"), s.node("/actuator")
			points, in := s.publisher(sensor, "/points", "aa"), s.subscription(filter, "/points")
			objects, out := s.publisher(filter, "/objects", "bb"), s.subscription(actuator, "/objects")
			for i := range int64(3) {
				at := 1000 + 100*i
				s.publishes(points, at+1, at+2, 0, 0)
				s.receives(in, "aa", at+2, at+11, at+40)
				for _, later := range []int64{20, 30} {
					if within {
						s.publishes(objects, at+later, at+later+1, in.callback, at+11)
					} else {
						s.publishes(objects, at+later, at+later+1, 0, 0)
					}
					s.receives(out, "bb", at+later+1, at+later+40, at+later+45)
				}
			}
			q := s.query(analyze.Filter{})
			if err := q.LoadActivity(t.Context()); err != nil {
				t.Fatal(err)
			}
			paths, err := q.Architecture.FindPaths("[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
			if err != nil {
				t.Fatal(err)
			}
			hops, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{LinkOptions: analyze.LinkOptions{Latest: !within}}, nil)
			if err != nil || len(hops) != 4 {
				t.Fatalf("%+v, %v", hops, err)
			}
			for i, messages := range []uint64{3, 3, 3, 6} {
				if h := hops[i]; h.Count != 6 || h.Messages != messages || h.Dropped != 0 {
					t.Errorf("hop %d has %d ways of %d messages, %d dropped, want 6 of %d", i, h.Count, h.Messages, h.Dropped, messages)
				}
			}
		})
	}
}

// Paths are asked for by what they lead through.
func TestPathsTakeFilters(t *testing.T) {
	d := pathSystem(t).write()
	for name, test := range map[string]struct {
		filter analyze.Filter
		found  bool
	}{
		"node":                {analyze.Filter{Nodes: patterns("/filter")}, true},
		"other node":          {analyze.Filter{Nodes: patterns("/viewer")}, false},
		"topic":               {analyze.Filter{Topics: patterns("/objects")}, true},
		"other topic":         {analyze.Filter{Topics: patterns("/object")}, false},
		"callback":            {analyze.Filter{Callbacks: patterns("/filter/callback_0")}, true},
		"callback at the end": {analyze.Filter{Callbacks: patterns("/sensor/callback_0")}, true},
		"other callback":      {analyze.Filter{Callbacks: patterns("/filter/callback_1")}, false},
		"process":             {analyze.Filter{Processes: []int32{100}}, true},
		"other process":       {analyze.Filter{Processes: []int32{200}}, false},
		"one does not fit":    {analyze.Filter{Nodes: patterns("/filter"), Topics: patterns("/other")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQuery(t, test.filter, d)
			if err := q.LoadActivity(t.Context()); err != nil {
				t.Fatal(err)
			}
			paths, _, err := q.Architecture.Paths(t.Context(), system.PathQuery{From: "/points", To: "/objects"})
			if err != nil {
				t.Fatal(err)
			}
			hops, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{}, nil)
			if found := len(hops) == 4 && err == nil; found != test.found || !found && !errors.Is(err, analyze.ErrNothingSelected) {
				t.Errorf("the latency has %d hops, %v", len(hops), err)
			}
			times, err := q.ResponseTime(t.Context(), paths, analyze.PathOptions{}, nil, nil)
			if found := len(times) == 4 && err == nil; found != test.found || !found && !errors.Is(err, analyze.ErrNothingSelected) {
				t.Errorf("%d response times, %v", len(times), err)
			}
		})
	}
}

func TestResponseTimeOfPath(t *testing.T) {
	q := pathSystem(t).query(analyze.Filter{})
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, err := q.Architecture.FindPaths("[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	results, err := q.ResponseTime(t.Context(), paths, analyze.PathOptions{}, nil, func(instances []analyze.ResponseTimeInputInstance) error {
		for _, i := range instances {
			inputs = append(inputs, fmt.Sprint(i.Input, i.ResponseTime))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Two messages in a row went missing before the last.
	for i, want := range []struct {
		of    analyze.ResponseTimeCase
		max   int64
		count uint64
	}{{analyze.ResponseBest, 60, 2}, {analyze.ResponseWorst, 260, 2}, {analyze.ResponseWorstWithExternalLatency, 360, 2}, {analyze.ResponseAll, 260, 4}} {
		if results[i].Case != want.of || results[i].Max.Value != want.max || results[i].Count != want.count {
			t.Errorf("got %+v, want %v", results[i], want)
		}
	}
	want := []string{"1101 60", "1201 260", "1301 160", "1401 60"}
	if !slices.Equal(inputs, want) {
		t.Errorf("the inputs took %q, want %q", inputs, want)
	}
}

func TestNoSuchPath(t *testing.T) {
	q := pathSystem(t).query(analyze.Filter{})
	for _, text := range []string{"", "[/sensor]", "[/sensor]-[/objects]-[/filter]", "[/nobody]-[/points]", "[/points]", "]-[", "[/sensor]-[/points]-[/filter]-[/objects]-[/sensor]"} {
		paths, err := q.Architecture.FindPaths(text)
		if err == nil {
			_, err = q.PathLatency(t.Context(), paths, analyze.PathOptions{}, nil)
		}
		if !errors.Is(err, system.ErrNoSuchName) && !errors.Is(err, analyze.ErrNothingSelected) {
			t.Errorf("%q gives %v", text, err)
		}
	}
}
