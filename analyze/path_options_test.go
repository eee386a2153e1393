package analyze_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

func pathsOf(t *testing.T, q *analyze.Query, text string) []*system.Path {
	t.Helper()
	if err := q.LoadActivity(t.Context()); err != nil {
		t.Fatal(err)
	}
	paths, err := q.Architecture.FindPaths(text)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// A path begins with the callback that publishes first, and ends with the one that the last message starts, if that is
// asked for.
func TestCallbacksAtTheEndsOfPaths(t *testing.T) {
	for name, test := range map[string]struct {
		first, last bool
		hops        []string
	}{
		"neither":   {false, false, []string{"path 60", "communication 10", "node 20", "communication 30"}},
		"the first": {true, false, []string{"path 61", "node 1", "communication 10", "node 20", "communication 30"}},
		"the last":  {false, true, []string{"path 74", "communication 10", "node 20", "communication 30", "node 14"}},
		"both":      {true, true, []string{"path 75", "node 1", "communication 10", "node 20", "communication 30", "node 14"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			sensor, filter, actuator := s.node("/sensor"), s.node("/filter"), s.node("/actuator")
			points, in := s.publisher(sensor, "/points", "aa"), s.subscription(filter, "/points")
			objects, out := s.publisher(filter, "/objects", "bb"), s.subscription(actuator, "/objects")
			timer := s.timer(sensor, 100)
			for i := range int64(3) {
				at := 1000 + 100*i
				s.runs(sensor, timer, at, at+5)
				s.publishes(points, at+1, at+2, timer, at)
				s.receives(in, "aa", at+2, at+11, at+40)
				s.publishes(objects, at+31, at+32, in.callback, at+11)
				s.receives(out, "bb", at+32, at+61, at+75)
			}
			q := s.query(analyze.Filter{})
			paths := pathsOf(t, q, "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
			hops, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{FirstCallback: test.first, LastCallback: test.last}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hops {
				got = append(got, fmt.Sprint(h.Kind, " ", h.Mean.Value))
				if h.Count != 3 || h.Messages != 3 || h.Dropped != 0 {
					t.Errorf("%+v, want 3 ways of 3 messages", h)
				}
			}
			if !slices.Equal(got, test.hops) || len(q.Warnings) > 0 {
				t.Errorf("the hops are %q, want %q; warnings %q", got, test.hops, q.Warnings)
			}
		})
	}
}

// What has no callback at that end of the path is left out, and said.
func TestNoCallbacksAtTheEndsOfPaths(t *testing.T) {
	for name, test := range map[string]struct {
		options analyze.PathOptions
		warning string
	}{
		"published outside of callbacks": {analyze.PathOptions{FirstCallback: true}, "1 messages did not set out on [/sensor]-[/points]-[/actuator]"},
		"polled":                         {analyze.PathOptions{LastCallback: true}, "1 ways along [/sensor]-[/points]-[/actuator] are left out"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRecording(t)
			sensor, actuator := s.node("/sensor"), s.node("/actuator")
			points, polled := s.publisher(sensor, "/points", "aa"), s.subscription(actuator, "/points")
			s.publishes(points, 100, 101, 0, 0)
			s.polls(polled, "aa", 101, 150, 0, 0)
			q := s.query(analyze.Filter{})
			hops, err := q.PathLatency(t.Context(), pathsOf(t, q, "[/sensor]-[/points]-[/actuator]"), test.options, nil)
			if err != nil || hops[0].Count != 0 {
				t.Errorf("%+v, %v", hops, err)
			}
			if len(q.Warnings) != 1 || !strings.HasPrefix(q.Warnings[0], test.warning) {
				t.Errorf("warnings %q, want %q", q.Warnings, test.warning)
			}
		})
	}
}

// The callbacks of two messages overlap, and that of the second ends first. Then its flow is the first, and the other
// one shows nothing newer.
func TestFlowsInTheOrderOfTheirEnds(t *testing.T) {
	s := newRecording(t)
	sensor, actuator := s.node("/sensor"), s.node("/actuator")
	points, in := s.publisher(sensor, "/points", "aa"), s.subscription(actuator, "/points")
	for _, m := range [][3]int64{{100, 110, 120}, {200, 210, 400}, {300, 310, 320}, {500, 510, 520}} {
		s.publishes(points, m[0], m[0], 0, 0)
		s.receives(in, "aa", m[0], m[1], m[2])
	}
	q := s.query(analyze.Filter{})
	var flows []string
	_, err := q.ResponseTime(t.Context(), pathsOf(t, q, "[/sensor]-[/points]-[/actuator]"), analyze.PathOptions{LastCallback: true}, func(instances []analyze.ResponseTimeInstance) error {
		for _, i := range instances {
			flows = append(flows, fmt.Sprintf("%d-%d %d %d", i.Input, i.Output, i.Worst, i.WorstWithExternalLatency))
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"300-320 120 220", "500-520 20 220"}; !slices.Equal(flows, want) {
		t.Errorf("the flows are %q, want %q", flows, want)
	}
}

// Each message that was dropped on a hop has a row, so many as the hops count.
func TestDroppedOnPaths(t *testing.T) {
	q := pathSystem(t).query(analyze.Filter{})
	var dropped []string
	perHop := make(map[int]uint64)
	hops, err := q.PathLatency(t.Context(), pathsOf(t, q, "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]"), analyze.PathOptions{Dropped: true}, func(instances []analyze.PathHopInstance) error {
		for _, i := range instances {
			if i.Fate == analyze.Received {
				continue
			}
			perHop[i.Hop]++
			dropped = append(dropped, fmt.Sprintf("%d %s %s: path %d, hop %d", i.Hop, i.Name, i.Fate, i.PathBegin.Value, i.Begin))
			if i.Instance.Valid || i.End.Valid || i.Latency.Valid {
				t.Errorf("a dropped message is %+v", i)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(dropped)
	wantLines(t, dropped, "1 /points lost: path 1201, hop 1201", "2 /filter unused: path 1301, hop 1311")
	for _, h := range hops[1:] {
		if perHop[h.Hop] != h.Dropped {
			t.Errorf("hop %d has %d rows of dropped messages, and counts %d", h.Hop, perHop[h.Hop], h.Dropped)
		}
	}
}

// A path of one node has no hop. It does not keep others from being answered.
func TestPathsWithoutAHop(t *testing.T) {
	whole, hopless := "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]", "[/sensor]-[/points]"
	for name, test := range map[string]struct {
		texts []string
		hops  int
	}{
		"beside another one": {[]string{hopless, whole}, 4},
		"alone":              {[]string{hopless}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := pathSystem(t).query(analyze.Filter{})
			var paths []*system.Path
			for _, text := range test.texts {
				paths = append(paths, pathsOf(t, q, text)...)
			}
			hops, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{}, nil)
			if len(hops) != test.hops || errors.Is(err, analyze.ErrNothingSelected) != (test.hops == 0) {
				t.Errorf("%d hops, %v", len(hops), err)
			}
			if want := "path " + hopless + " is left out: it has no hop"; !slices.Contains(q.Warnings, want) {
				t.Errorf("warnings %q", q.Warnings)
			}
		})
	}
}

// The messages of the callbacks at the ends are those of the time that is asked for.
func TestCallbacksAtTheEndsInATime(t *testing.T) {
	s := newRecording(t)
	sensor, actuator := s.node("/sensor"), s.node("/actuator")
	points, in := s.publisher(sensor, "/points", "aa"), s.subscription(actuator, "/points")
	timer := s.timer(sensor, 100)
	for i := range int64(5) {
		at := 1000 + 100*i
		s.runs(sensor, timer, at, at+5)
		s.publishes(points, at+1, at+2, timer, at)
		s.receives(in, "aa", at+2, at+11, at+40)
	}
	q := s.query(analyze.Filter{})
	q.Restrict(trace.Some(int64(1300)), trace.Optional[int64]{})
	hops, err := q.PathLatency(t.Context(), pathsOf(t, q, "[/sensor]-[/points]-[/actuator]"), analyze.PathOptions{FirstCallback: true, LastCallback: true}, nil)
	if err != nil || len(hops) != 4 {
		t.Fatalf("%+v, %v", hops, err)
	}
	for _, h := range hops {
		if h.Messages != 2 || h.Count != 2 {
			t.Errorf("hop %d has %d ways of %d messages, want 2 of 2", h.Hop, h.Count, h.Messages)
		}
	}
}

// By the clocks of two hosts, outputs may be there before their inputs. Then there is no response time, and that is
// said.
func TestOutputsBeforeInputs(t *testing.T) {
	s := newRecording(t)
	sensor, actuator := s.node("/sensor"), s.node("/actuator")
	points, in := s.publisher(sensor, "/points", "aa"), s.subscription(actuator, "/points")
	for at := int64(1000); at < 1300; at += 100 {
		s.publishes(points, at, at, 0, 0)
		s.receives(in, "aa", at, at-50, at-40)
	}
	q := s.query(analyze.Filter{})
	results, err := q.ResponseTime(t.Context(), pathsOf(t, q, "[/sensor]-[/points]-[/actuator]"), analyze.PathOptions{}, nil, nil)
	if err != nil || results[0].Count != 0 {
		t.Fatalf("%+v, %v", results, err)
	}
	if len(q.Warnings) != 1 || !strings.HasPrefix(q.Warnings[0], "3 outputs of [/sensor]-[/points]-[/actuator] have no response time") {
		t.Errorf("warnings %q", q.Warnings)
	}
}
