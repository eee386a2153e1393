package trigger_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trigger"
)

// published is a publish in a callback that began at an instant; 0: in none.
func published(topic string, source, in int64) trace.Publish {
	row := trace.Publish{TID: 5, TopicName: topic, RclcppPublishTimestamp: trace.Some(source), SourceTimestamp: trace.Some(source)}
	if in != 0 {
		row.CallbackStartTimestamp = trace.Some(in)
	}
	return row
}

// got is a callback that got the message with a source timestamp.
func got(topic string, source, start int64) trace.Callback {
	row := trace.Callback{TID: 5, TopicName: topic, CallbackStartTimestamp: trace.Some(start)}
	if source != 0 {
		row.SourceTimestamp = trace.Some(source)
	}
	return row
}

// dequeued is a callback that got the message of a place in a buffer.
func dequeued(topic string, index uint64, at, start int64) trace.Callback {
	row := got(topic, 0, start)
	row.Buffer, row.DequeueIndex, row.DequeueTimestamp = 9, trace.Some(index), trace.Some(at)
	return row
}

// passedOn is the publish of a message that goes through a buffer, and its enqueue.
func passedOn(topic string, number, index uint64, at, in int64) *trace.Batch {
	publish := published(topic, at, in)
	publish.SourceTimestamp.Valid, publish.PublishNumber, publish.EnqueueCount = false, number, 1
	return &trace.Batch{
		Publishes: []trace.Publish{publish},
		Enqueues:  []trace.Enqueue{{TID: 5, Buffer: 9, Index: trace.Some(index), EnqueueTimestamp: at, PublishNumber: trace.Some(number)}},
	}
}

func publishes(rows ...trace.Publish) *trace.Batch  { return &trace.Batch{Publishes: rows} }
func callbacks(rows ...trace.Callback) *trace.Batch { return &trace.Batch{Callbacks: rows} }

func TestPath(t *testing.T) {
	// A message of /points published at 1 s, taken at 2 s; of it came /boxes at 3 s, taken at 4 s; of that /control at
	// 5 s, taken at 6 s.
	points, boxes, control := published("/points", second, 0), published("/boxes", 3*second, 2*second), published("/control", 5*second, 4*second)
	first, middle, last := got("/points", second, 2*second), got("/boxes", 3*second, 4*second), got("/control", 5*second, 6*second)
	for name, test := range map[string]struct {
		definition string
		steps      []step
		at         []int64
		reason     string
	}{
		"in the order of ends": {
			"path over=4s from=points to=control",
			[]step{{batch: publishes(points)}, {batch: &trace.Batch{Publishes: []trace.Publish{boxes}, Callbacks: []trace.Callback{first}}},
				{batch: &trace.Batch{Publishes: []trace.Publish{control}, Callbacks: []trace.Callback{middle}}}, {batch: callbacks(last)}},
			[]int64{6 * second}, "a callback of /control began 5s after the message of /points was published from which its input came",
		},
		"the first callback ends last": {
			"path over=4s from=points to=control",
			[]step{{batch: publishes(points, boxes, control)}, {batch: callbacks(last)}, {tick: 7 * second}, {batch: callbacks(middle)}, {tick: 8 * second},
				{batch: callbacks(first)}, {tick: 9 * second}, {tick: 10 * second}},
			[]int64{6 * second}, "",
		},
		"one comes too late to tell": {
			"path over=4s from=points to=control",
			[]step{{batch: publishes(points, boxes, control)}, {batch: callbacks(last, middle)}, {tick: 67 * second}, {batch: callbacks(first)}, {tick: 68 * second}},
			nil, "",
		},
		"fast enough": {
			"path over=5s from=points to=control", []step{{batch: publishes(points, boxes, control)}, {batch: callbacks(first, middle, last)}, {tick: 9 * second}}, nil, "",
		},
		"from the last that matches": {
			"path over=2s from=. to=control", []step{{batch: publishes(points, boxes, control)}, {batch: callbacks(first, middle, last)}}, nil, "",
		},
		"one hop": {
			"path over=500ms from=. to=control", []step{{batch: publishes(points, boxes, control)}, {batch: callbacks(first, middle, last)}}, []int64{6 * second}, "",
		},
		"of a timer": {
			"path over=4s from=points to=control",
			[]step{{batch: publishes(points, boxes, control)}, {batch: callbacks(first, got("", 0, 4*second), last)}, {tick: 9 * second}}, nil, "",
		},
		"of no callback": {
			"path over=1s from=points to=control", []step{{batch: publishes(published("/control", 5*second, 0))}, {batch: callbacks(last)}}, nil, "",
		},
		"of a publisher that is not recorded": {
			"path over=1s from=points to=control", []step{{batch: callbacks(last)}, {tick: 9 * second}}, nil, "",
		},
		"round in a circle": {
			"path over=1s from=points to=control",
			[]step{{batch: publishes(published("/control", 5*second, 6*second))}, {batch: callbacks(last)}, {tick: 9 * second}}, nil, "",
		},
		"through a buffer, whose place was used again": {
			"path over=4s from=points to=control",
			[]step{{batch: publishes(points)}, {batch: callbacks(first)}, {batch: passedOn("/boxes", 1, 3, second/2, second/3)}, {batch: passedOn("/boxes", 2, 3, 3*second, 2*second)},
				{batch: passedOn("/boxes", 3, 3, 4*second, 4*second)}, {batch: publishes(control)}, {batch: callbacks(dequeued("/boxes", 3, 4*second-1, 4*second), last)}},
			[]int64{6 * second}, "",
		},
		"out of a place whose last message is missing": {
			"path over=1s from=points to=boxes",
			[]step{{batch: passedOn("/points", 1, 3, second, 0)}, {batch: callbacks(dequeued("/points", 3, second+1, second+2))},
				{batch: callbacks(dequeued("/boxes", 3, 9*second, 9*second))}, {tick: 10 * second}},
			nil, "",
		},
		"out of a place that a poll has emptied": {
			"path over=1s from=points to=boxes",
			[]step{{batch: passedOn("/points", 1, 3, second, 0)},
				{batch: &trace.Batch{Takes: []trace.Take{{Buffer: 9, DequeueIndex: trace.Some(uint64(3)), DequeueTimestamp: trace.Some(2 * second)}}}},
				{batch: callbacks(dequeued("/boxes", 3, 9*second, 9*second))}, {tick: 10 * second}},
			nil, "",
		},
		"out of a place into which nobody is known to have put it": {
			"path over=1s from=points to=boxes",
			[]step{{batch: passedOn("/points", 1, 3, second, 0)},
				{batch: &trace.Batch{Enqueues: []trace.Enqueue{{TID: 5, Buffer: 9, Index: trace.Some(uint64(3)), EnqueueTimestamp: 8 * second}}}},
				{batch: callbacks(dequeued("/boxes", 3, 9*second, 9*second))}, {tick: 10 * second}},
			nil, "",
		},
		"of a place that is used all the time": {
			"path over=1s from=points to=boxes",
			append(slices.Repeat([]step{{batch: passedOn("/points", 1, 3, second, 0)}}, 500), step{batch: callbacks(dequeued("/boxes", 3, 3*second, 3*second))}),
			[]int64{3 * second}, "",
		},
		"out of a buffer into which nothing was seen to come": {
			"path over=1s from=points to=boxes", []step{{batch: callbacks(dequeued("/boxes", 3, 4*second-1, 4*second))}, {tick: 9 * second}}, nil, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := watching(t, test.definition)
			var at []int64
			for _, f := range firings(w, test.steps) {
				at = append(at, f.Trigger.Timestamp)
				if test.reason != "" && f.Trigger.Reason != test.reason {
					t.Errorf("the reason is %q", f.Trigger.Reason)
				}
				if f.Trigger.Table != trace.TableCallback || len(f.Trigger.Row) == 0 {
					t.Errorf("%+v", f.Trigger)
				}
			}
			if !slices.Equal(at, test.at) {
				t.Errorf("it comes at %v, want %v", at, test.at)
			}
			if w.Beyond() != 0 {
				t.Errorf("%d were not watched", w.Beyond())
			}
		})
	}
}

// However many messages there are, memory is bounded, and it is said when a message may be among those that were
// forgotten, but not when its publisher is none that is recorded.
func TestPathForgets(t *testing.T) {
	for name, test := range map[string]struct {
		age    int64 // of the last callback's message, in messages
		beyond bool
	}{"one of the oldest": {199_000, true}, "one that is kept": {1000, false}, "one that nobody published": {-3000, false}} {
		t.Run(name, func(t *testing.T) {
			all, err := trigger.ParseAll([]string{"path from=points to=control over=1s"})
			if err != nil {
				t.Fatal(err)
			}
			w := trigger.NewWatch(all)
			at := 10 * second
			for range 200_000 {
				at += second / 1000
				w.Look(passedOn("/points", uint64(at), 1, at, 0))
				w.Look(&trace.Batch{Publishes: []trace.Publish{published("/control", at, 0)}, Callbacks: []trace.Callback{got("/points", at, at)}})
			}
			w.Look(callbacks(got("/control", at-test.age*second/1000, at+4*second)))
			w.Tick(at + 60*second)
			if (w.Beyond() > 0) != test.beyond {
				t.Errorf("%d were not watched", w.Beyond())
			}
		})
	}
}

func TestFewPaths(t *testing.T) {
	text := "path over=1s from=a to=b"
	if _, err := trigger.ParseAll(slices.Repeat([]string{text}, 4)); err != nil {
		t.Error(err)
	}
	if _, err := trigger.ParseAll(slices.Repeat([]string{text}, 5)); !errors.Is(err, trigger.ErrDefinition) {
		t.Errorf("five: %v", err)
	}
}
