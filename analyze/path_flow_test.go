package analyze_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// flowsOf returns the ways along the paths between topics, in order, with what PathFlows returns.
func flowsOf(t *testing.T, q *analyze.Query, options analyze.PathOptions, texts ...string) (flows []string, hops []analyze.PathHop) {
	t.Helper()
	var paths []*system.Path
	for _, text := range texts {
		paths = append(paths, pathsOf(t, q, text)...)
	}
	hops, err := q.PathFlows(t.Context(), paths, options, func(more []analyze.PathFlow) error {
		for _, f := range more {
			again := ""
			if f.Again {
				again = " again"
			}
			flows = append(flows, fmt.Sprintf("%d %s%s", f.Times, f.Fate, again))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(flows)
	return flows, hops
}

// Ways end where messages were lost, or where nothing was made of them. What is known besides is that of PathLatency.
func TestPathFlows(t *testing.T) {
	q := pathSystem(t).query(analyze.Filter{})
	flows, hops := flowsOf(t, q, analyze.PathOptions{}, "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	want := []string{
		"[1001 1011 1031 1061] received", "[1101 1111 1131 1161] received", "[1201] lost", "[1301 1311] unused", "[1401 1411 1431 1461] received",
	}
	if !slices.Equal(flows, want) {
		t.Errorf("got %q, want %q", flows, want)
	}
	if len(hops) != 4 || hops[0].Messages != 5 || hops[0].Dropped != 2 {
		t.Errorf("the hops are %+v", hops)
	}
}

// Where the first callback is on the path, its start is the first time, also of what was lost.
func TestFlowsFromTheFirstCallback(t *testing.T) {
	q := pathSystem(t).query(analyze.Filter{})
	flows, _ := flowsOf(t, q, analyze.PathOptions{FirstCallback: true}, "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	want := []string{
		"[1000 1001 1011 1031 1061] received", "[1100 1101 1111 1131 1161] received", "[1200 1201] lost", "[1300 1301 1311] unused", "[1400 1401 1411 1431 1461] received",
	}
	if !slices.Equal(flows, want) {
		t.Errorf("got %q, want %q", flows, want)
	}
}

// A path may begin where a node receives, and end where it publishes.
func TestFlowsOfPathsThatBeginOrEndWithinANode(t *testing.T) {
	for text, want := range map[string][]string{
		"[/points]-[/filter]-[/objects]-[/actuator]": {"[1011 1031 1061] received", "[1111 1131 1161] received", "[1311] unused", "[1411 1431 1461] received"},
		"[/points]-[/filter]-[/objects]":             {"[1011 1031] received", "[1111 1131] received", "[1311] unused", "[1411 1431] received"},
	} {
		t.Run(text, func(t *testing.T) {
			if flows, _ := flowsOf(t, pathSystem(t).query(analyze.Filter{}), analyze.PathOptions{}, text); !slices.Equal(flows, want) {
				t.Errorf("got %q, want %q", flows, want)
			}
		})
	}
}

// What is under way when the recording ends is not lost; and two messages that were made of one have a way each.
func TestFlowsThatAreOpenAndThoseThatFork(t *testing.T) {
	s := newRecording(t)
	sensor, filter, actuator := s.node("/sensor"), s.node("/filter"), s.node("/actuator")
	points, in := s.publisher(sensor, "/points", "aa"), s.subscription(filter, "/points")
	objects, out := s.publisher(filter, "/objects", "bb"), s.subscription(actuator, "/objects")
	s.publishes(points, 1001, 1002, 0, 0)
	s.receives(in, "aa", 1002, 1011, 1040)
	for _, at := range []int64{1020, 1030} {
		s.publishes(objects, at, at+1, in.callback, 1011)
		s.receives(out, "bb", at+1, at+40, at+45)
	}
	s.publishes(points, 1101, 1102, 0, 0)
	s.receives(in, "aa", 1102, 1111, 1140)
	s.publishes(objects, 1120, 1121, in.callback, 1111) // and nobody has received it yet
	s.publishes(points, 1201, 1202, 0, 0)               // likewise
	flows, _ := flowsOf(t, s.query(analyze.Filter{}), analyze.PathOptions{}, "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	if len(flows) != 4 || flows[2] != "[1101 1111 1120] open" || flows[3] != "[1201] open" {
		t.Fatalf("got %q", flows)
	}
	if forked := flows[:2]; !slices.Equal(forked, []string{"[1001 1011 1020 1060] received", "[1001 1011 1030 1070] received again"}) &&
		!slices.Equal(forked, []string{"[1001 1011 1020 1060] received again", "[1001 1011 1030 1070] received"}) {
		t.Errorf("got %q", forked)
	}
}

// Each of two paths that part has the ways on it, and a message that is lost to one of them may arrive by the other.
func TestFlowsOfPathsThatPart(t *testing.T) {
	s := newRecording(t)
	sensor, first, second := s.node("/sensor"), s.node("/first"), s.node("/second")
	points := s.publisher(sensor, "/points", "aa")
	one, two := s.subscription(first, "/points"), s.subscription(second, "/points")
	for i, at := range []int64{1000, 1100, 1200} {
		s.publishes(points, at, at+1, 0, 0)
		s.receives(one, "aa", at+1, at+10, at+15)
		if i != 1 {
			s.receives(two, "aa", at+1, at+20, at+25)
		}
	}
	flows, _ := flowsOf(t, s.query(analyze.Filter{}), analyze.PathOptions{}, "[/sensor]-[/points]-[/first]", "[/sensor]-[/points]-[/second]")
	want := []string{"[1000 1010] received", "[1000 1020] received", "[1100 1110] received", "[1100] lost", "[1200 1210] received", "[1200 1220] received"}
	if !slices.Equal(flows, want) {
		t.Errorf("got %q, want %q", flows, want)
	}
}

// An error of who gets the ways is returned.
func TestPathFlowsEndsWithAnError(t *testing.T) {
	q := pathSystem(t).query(analyze.Filter{})
	paths := pathsOf(t, q, "[/sensor]-[/points]-[/filter]-[/objects]-[/actuator]")
	full := errors.New("full")
	if _, err := q.PathFlows(t.Context(), paths, analyze.PathOptions{}, func([]analyze.PathFlow) error { return full }); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}
