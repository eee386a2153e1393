package analyze_test

import (
	"regexp"
	"sync"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

func patterns(texts ...string) []*regexp.Regexp {
	var compiled []*regexp.Regexp
	for _, text := range texts {
		compiled = append(compiled, regexp.MustCompile(text))
	}
	return compiled
}

// Each question takes each filter: a timer of /sensor publishes /points (process 100), which /filter and /viewer
// receive (200); /filter publishes /objects.
func TestFilters(t *testing.T) {
	s := newRecording(t)
	sensor := s.node("/sensor")
	timer, points := s.timer(sensor, 100), s.publisher(sensor, "/points", "aa")
	s.key = processKey(200)
	filter, viewer := s.node("/filter"), s.node("/viewer")
	toFilter, toViewer := s.subscription(filter, "/points"), s.subscription(viewer, "/points")
	objects := s.publisher(filter, "/objects", "bb")
	s.rows.CallbackInfos = append(s.rows.CallbackInfos, trace.CallbackInfo{
		ProcessKey: s.key, Callback: toFilter.callback, Kind: trace.KindSubscription, OwnerHandle: toFilter.handle, TopicName: "/points", NodeName: "/filter",
		Symbol: "Filter::on_points(Points)", Provenance: trace.FromMemory,
	})
	for at := int64(1000); at <= 3000; at += 1000 {
		s.runs(sensor, timer, at, at+50)
		s.publishes(points, at+10, at+15, timer, at)
		s.receives(toFilter, "aa", at+15, at+100, at+200)
		s.receives(toViewer, "aa", at+15, at+110, at+120)
		s.publishes(objects, at+150, at+155, toFilter.callback, at+100)
	}
	d := s.write()
	for name, test := range map[string]struct {
		filter analyze.Filter
		// The instances of callbacks, messages, inputs of nodes, and publishes.
		callbacks, messages, inputs, publishes uint64
	}{
		"none":           {analyze.Filter{}, 9, 6, 3, 6},
		"node":           {analyze.Filter{Nodes: patterns("/filter")}, 3, 3, 3, 3},
		"part of a name": {analyze.Filter{Nodes: patterns("/filt")}, 0, 0, 0, 0},
		"several nodes":  {analyze.Filter{Nodes: patterns("/sen.*", "/viewer")}, 6, 6, 0, 3},
		"topic":          {analyze.Filter{Topics: patterns("/points")}, 6, 6, 3, 3},
		"other topic":    {analyze.Filter{Topics: patterns("/objects")}, 0, 0, 3, 3},
		"callback":       {analyze.Filter{Callbacks: patterns(`/viewer/callback_\d+`)}, 3, 3, 0, 6},
		"symbol":         {analyze.Filter{Callbacks: patterns("Filter::.*")}, 3, 3, 3, 6},
		"process":        {analyze.Filter{Processes: []int32{100}}, 3, 6, 0, 3},
		"node and topic": {analyze.Filter{Nodes: patterns("/viewer"), Topics: patterns("/points")}, 3, 3, 0, 0},
		"from":           {analyze.Filter{From: trace.Some(int64(2000))}, 6, 4, 2, 4},
		"to":             {analyze.Filter{To: trace.Some(int64(1100))}, 2, 2, 1, 1},
		"from and to":    {analyze.Filter{From: trace.Some(int64(2010)), To: trace.Some(int64(2010))}, 0, 2, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQuery(t, test.filter, d)
			check := func(what string, want uint64, err error, add func(func(uint64))) {
				t.Helper()
				var got uint64
				add(func(count uint64) { got += count })
				if err != nil || got != want {
					t.Errorf("%d %s, want %d, %v", got, what, want, err)
				}
			}
			callbacks, err := q.CallbackLatency(t.Context(), nil)
			check("callbacks", test.callbacks, err, func(add func(uint64)) {
				for _, r := range callbacks {
					add(r.Count)
				}
			})
			messages, err := q.CommunicationLatency(t.Context(), nil)
			check("messages", test.messages, err, func(add func(uint64)) {
				for _, r := range messages {
					add(r.Count + r.Lost + r.Open)
				}
			})
			nodes, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, nil)
			check("inputs", test.inputs, err, func(add func(uint64)) {
				for _, r := range nodes {
					add(r.Count + r.Unused)
				}
			})
			var publishes uint64
			_, err = q.Frequencies(t.Context(), analyze.Topics, false, analyze.Intervals{Length: 1}, func(rows []analyze.FrequencyInstance) error {
				for _, r := range rows {
					publishes += r.Count
				}
				return nil
			})
			check("publishes", test.publishes, err, func(add func(uint64)) { add(publishes) })
		})
	}
}

// A callback that polls gets the messages of the subscription.
func TestPollingCallbacksAreChosen(t *testing.T) {
	s := newRecording(t)
	n, source := s.node("/n"), s.node("/source")
	timer, other := s.timer(n, 100), s.timer(n, 200)
	in, out := s.publisher(source, "/in", "aa"), s.publisher(n, "/out", "bb")
	polled := s.subscription(n, "/in")
	for at := int64(1000); at < 2000; at += 100 {
		s.publishes(in, at-50, at-45, 0, 0)
		s.runs(n, timer, at, at+50)
		s.polls(polled, "aa", at-45, at+10, timer, at)
		s.publishes(out, at+20, at+25, timer, at)
		s.runs(n, other, at+60, at+70)
	}
	d := s.write()
	for callback, want := range map[string]uint64{"/n/callback_0": 10, "/n/callback_1": 0} {
		q := newQuery(t, analyze.Filter{Callbacks: patterns(callback)}, d)
		var count uint64
		nodes, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, nil)
		for _, r := range nodes {
			count += r.Count
		}
		if err != nil || count != want {
			t.Errorf("%s: %d outputs of inputs, want %d, %v", callback, count, want, err)
		}
		messages, err := newQuery(t, analyze.Filter{Callbacks: patterns(callback)}, d).CommunicationLatency(t.Context(), nil)
		count = 0
		for _, r := range messages {
			count += r.Count
		}
		if err != nil || count != want {
			t.Errorf("%s: %d messages, want %d, %v", callback, count, want, err)
		}
		paths, err := q.Architecture.FindPaths("[/source]-[/in]-[/n]")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.PathLatency(t.Context(), paths, analyze.PathOptions{}, nil); (err == nil) != (want > 0) {
			t.Errorf("%s: the path that it ends: %v", callback, err)
		}
	}
}

// Row groups that can hold nothing of what is asked for are not read.
func TestRowGroupsArePruned(t *testing.T) {
	s := newRecording(t)
	first, second := s.node("/first"), s.node("/second")
	a, b := s.timer(first, 10), s.timer(second, 10)
	const rows = 1000
	s.runs(first, a, 0, 1)
	dir := s.write().Dir()
	for i, timer := range []trace.Address{a, b, a} {
		var executions []trace.Callback
		for n := range int64(rows) {
			start := int64(i)*100_000 + 10*n
			executions = append(executions, trace.Callback{
				ProcessKey: s.key, Callback: timer, CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(start + 1), Status: trace.CallbackComplete,
			})
		}
		tracetest.AddSegment(t, dir, i, executions)
	}
	d, err := trace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		filter analyze.Filter
		read   int64
	}{
		"everything": {analyze.Filter{}, 3 * rows},
		"by time":    {analyze.Filter{From: trace.Some(int64(150_000))}, rows},
		"by both":    {analyze.Filter{From: trace.Some(int64(50_000)), To: trace.Some(int64(150_000))}, rows},
		"by address": {analyze.Filter{Nodes: patterns("/second")}, rows},
		"nothing":    {analyze.Filter{Nodes: patterns("/second"), From: trace.Some(int64(150_000))}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQuery(t, test.filter, d)
			var mu sync.Mutex
			var read, of int64
			q.Progress = func(now, total int64) {
				mu.Lock()
				defer mu.Unlock()
				read, of = max(read, now), total
			}
			if _, err := q.CallbackLatency(t.Context(), nil); err != nil || read != test.read || of != test.read {
				t.Errorf("%d rows of %d were read, want %d, %v", read, of, test.read, err)
			}
		})
	}
}
