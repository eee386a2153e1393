package summary

import (
	"errors"
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestWhatOnlyRowsNameIsLimited: callbacks and others that no table of entities has are counted up to a limit.
func TestWhatOnlyRowsNameIsLimited(t *testing.T) {
	const strangers = 10
	key := func(i int) trace.ProcessKey { return trace.ProcessKey{BootID: "boot", PID: int32(i), ProcessStart: 1} }
	one, address := key(0), func(i int) trace.Address { return trace.Address(i + 1) }
	for name, add := range map[string]func(t *testing.T, dir string, n int){
		"callbacks": func(t *testing.T, dir string, n int) {
			rows := make([]trace.Callback, n)
			for i := range rows {
				rows[i] = trace.Callback{ProcessKey: one, Callback: address(i), CallbackStartTimestamp: trace.Some(int64(1)), Status: trace.CallbackComplete}
			}
			tracetest.AddSegment(t, dir, 0, rows)
		},
		"processes": func(t *testing.T, dir string, n int) {
			rows := make([]trace.Enqueue, n)
			for i := range rows {
				rows[i] = trace.Enqueue{ProcessKey: key(i), EnqueueTimestamp: 1}
			}
			tracetest.AddSegment(t, dir, 0, rows)
		},
		"publishers": func(t *testing.T, dir string, n int) {
			rows := make([]trace.Publish, n)
			for i := range rows {
				rows[i] = trace.Publish{ProcessKey: one, PublisherHandle: address(i), RclPublishTimestamp: trace.Some(int64(1)), Status: trace.PublishComplete}
			}
			tracetest.AddSegment(t, dir, 0, rows)
		},
		"topics that are published": func(t *testing.T, dir string, n int) {
			rows := make([]trace.Publish, n)
			for i := range rows {
				rows[i] = trace.Publish{ProcessKey: one, TopicName: fmt.Sprint("/topic", i), RclPublishTimestamp: trace.Some(int64(1)), Status: trace.PublishComplete}
			}
			tracetest.AddSegment(t, dir, 0, rows)
		},
		"topics that are taken": func(t *testing.T, dir string, n int) {
			rows := make([]trace.Take, n)
			for i := range rows {
				rows[i] = trace.Take{ProcessKey: one, Kind: trace.TakeRMW, TopicName: fmt.Sprint("/topic", i), RMWTakeTimestamp: trace.Some(int64(1))}
			}
			tracetest.AddSegment(t, dir, 0, rows)
		},
		"events": func(t *testing.T, dir string, n int) {
			rows := make([]trace.Event, n)
			for i := range rows {
				rows[i] = trace.Event{ProcessKey: one, Event: fmt.Sprint("event", i), EventTimestamp: 1}
			}
			tracetest.AddSegment(t, dir, 0, rows)
		},
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
