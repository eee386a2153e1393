package summary

import (
	"errors"
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// segment adds a segment of so many rows to a dataset.
func segment[R any](row func(i int) R) func(t *testing.T, dir string, n int) {
	return func(t *testing.T, dir string, n int) {
		rows := make([]R, n)
		for i := range rows {
			rows[i] = row(i)
		}
		tracetest.AddSegment(t, dir, 0, rows)
	}
}

// TestWhatOnlyRowsNameIsLimited: callbacks and others that no table of entities has are counted up to a limit.
func TestWhatOnlyRowsNameIsLimited(t *testing.T) {
	const strangers = 10
	key := func(i int) trace.ProcessKey { return trace.ProcessKey{BootID: "boot", PID: int32(i), ProcessStart: 1} }
	one, address := key(0), func(i int) trace.Address { return trace.Address(i + 1) }
	for name, add := range map[string]func(t *testing.T, dir string, n int){
		"callbacks": segment(func(i int) trace.Callback {
			return trace.Callback{ProcessKey: one, Callback: address(i), CallbackStartTimestamp: trace.Some(int64(1)), Status: trace.CallbackComplete}
		}),
		"processes": segment(func(i int) trace.Enqueue {
			return trace.Enqueue{ProcessKey: key(i), EnqueueTimestamp: 1}
		}),
		"publishers": segment(func(i int) trace.Publish {
			return trace.Publish{ProcessKey: one, PublisherHandle: address(i), RclPublishTimestamp: trace.Some(int64(1)), Status: trace.PublishComplete}
		}),
		"topics that are published": segment(func(i int) trace.Publish {
			return trace.Publish{ProcessKey: one, TopicName: fmt.Sprint("/topic", i), RclPublishTimestamp: trace.Some(int64(1)), Status: trace.PublishComplete}
		}),
		"topics that are taken": segment(func(i int) trace.Take {
			return trace.Take{ProcessKey: one, Kind: trace.TakeRMW, TopicName: fmt.Sprint("/topic", i), RMWTakeTimestamp: trace.Some(int64(1))}
		}),
		"events": segment(func(i int) trace.Event {
			return trace.Event{ProcessKey: one, Event: fmt.Sprint("event", i), EventTimestamp: 1}
		}),
	} {
		for rows, want := range map[int]error{strangers: nil, 2 * strangers: system.ErrTooManyUnknown} {
			t.Run(fmt.Sprintf("%d %s", rows, name), func(t *testing.T) {
				dir := t.TempDir()
				add(t, dir, rows)
				tracetest.AddSession(t, dir, trace.NewSession())
				s := newSummarizer(tracetest.Open(t, dir), nil, nil)
				s.unknown = &system.UnknownLimit{Entities: strangers + 2, Text: 1000}
				if _, err := s.run(t.Context()); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			})
		}
	}
}

// The names of few are limited, too.
func TestNamesInRowsAreLimited(t *testing.T) {
	dir := t.TempDir()
	tracetest.AddSegment(t, dir, 0, []trace.Take{{Kind: trace.TakeRMW, TopicName: "/a_topic_with_a_name"}})
	tracetest.AddSession(t, dir, trace.NewSession())
	for room, want := range map[int]error{20: nil, 19: system.ErrTooManyUnknown} {
		s := newSummarizer(tracetest.Open(t, dir), nil, nil)
		s.unknown = &system.UnknownLimit{Entities: 100, Text: room}
		if _, err := s.run(t.Context()); !errors.Is(err, want) {
			t.Errorf("room for %d bytes: %v, want %v", room, err, want)
		}
	}
}
