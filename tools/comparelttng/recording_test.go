package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

const realtimeOffset = 1_700_000_000_000_000_000

func wholeSession() *trace.Session {
	s := trace.NewSession()
	s.Ending = trace.EndingTargetsExited
	s.Clock.RealtimeOffset = realtimeOffset
	s.Plan.Sites = []trace.Site{
		{Event: "callback_start", Symbol: "ros_trace_callback_start"}, {Event: "rcl_publish", Symbol: "ros_trace_rcl_publish"},
		{Event: "rcl_publish", Symbol: "rcl_publish_loaned_message"}, {Event: "executor_execute", Symbol: "_ZN6rclcpp8Executor"},
	}
	return s
}

func writeRecording(t *testing.T, session *trace.Session, events ...trace.Event) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "recording")
	w, err := writer.Create(directory, writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&trace.Batch{Events: events, Publishes: []trace.Publish{
		{Kind: trace.PublishMessage, Status: trace.PublishComplete}, {Kind: trace.PublishLoaned, Status: trace.PublishComplete},
		{Kind: trace.PublishSerialized, Status: trace.PublishNoLastLayer}, {Status: trace.PublishComplete},
	}}); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSession(session); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return directory
}

func TestReadRecording(t *testing.T) {
	directory := writeRecording(t, wholeSession(),
		trace.Event{
			ProcessKey: trace.ProcessKey{PID: 7}, TID: 8, Event: "callback_start", EventTimestamp: realtimeOffset + 1000,
			Argument1: trace.Some(uint64(0xaaa)), Argument2: trace.Some(uint64(0)),
		},
		trace.Event{
			ProcessKey: trace.ProcessKey{PID: 7}, TID: 8, Event: "rclcpp_publish", EventTimestamp: realtimeOffset + 2000,
			Argument1: trace.Some(uint64(0)), Argument2: trace.Some(uint64(0xbbb)),
		})
	r, err := readRecording(context.Background(), directory)
	if err != nil {
		t.Fatal(err)
	}
	expected := []event{
		{thread{7, 8}, "callback_start", 1000, []argument{number("callback", 0xaaa), number("is_intra_process", 0)}},
		{thread{7, 8}, "rclcpp_publish", 2000, []argument{number("publisher_handle", 0), number("message", 0xbbb)}},
	}
	if !reflect.DeepEqual(r.events, expected) {
		t.Errorf("%v", r.events)
	}
	if observed := slices.Sorted(maps.Keys(r.observed)); !slices.Equal(observed, []string{"callback_start", "rcl_publish"}) {
		t.Errorf("observed at tracepoints: %v", observed)
	}
	if !r.elsewhere["rcl_publish"] || r.elsewhere["callback_start"] {
		t.Errorf("observed elsewhere: %v", r.elsewhere)
	}
	if r.otherForms != 2 {
		t.Errorf("%d messages in other forms", r.otherForms)
	}
}

func TestReadRecordingThatIsNotWhole(t *testing.T) {
	for name, change := range map[string]func(*trace.Session){
		"was interrupted":  func(s *trace.Session) { s.Ending = trace.EndingSignal },
		"is still running": func(s *trace.Session) { s.Ending = trace.EndingRunning },
		"has lost something": func(s *trace.Session) {
			s.Losses = []trace.LossTotal{{Kind: "raw", Reason: "ring_full", Count: 1}}
		},
	} {
		session := wholeSession()
		change(session)
		if r, err := readRecording(context.Background(), writeRecording(t, session, trace.Event{Event: "callback_start"})); err == nil {
			t.Errorf("a recording that %s: %v", name, r)
		}
	}
	if _, err := readRecording(context.Background(), t.TempDir()); err == nil {
		t.Error("a directory without a recording")
	}
}

// fakeBabeltrace puts a program of that name in front of all others.
func fakeBabeltrace(t *testing.T, script string) {
	t.Helper()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "babeltrace2"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", directory+":"+os.Getenv("PATH"))
}

func TestReadLTTng(t *testing.T) {
	const line = `[5] h ros2:callback_end: { cpu_id = 0 }, { vpid = 1, vtid = 1 }, { callback = 0x1 }`
	for name, test := range map[string]struct{ script, errorContains string }{
		"events":           {"echo '" + line + "'", ""},
		"discarded events": {"echo '" + line + "'; echo 'WARNING: Tracer discarded 3 events' >&2", "discarded 3 events"},
		"no trace":         {"echo 'No trace was found' >&2; exit 1", "No trace was found"},
		"other text":       {"echo '[5] h ros2:x'; seq 100000", "not an event"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeBabeltrace(t, test.script)
			events, err := readLTTng(context.Background(), "trace")
			if test.errorContains == "" {
				if err != nil || len(events) != 1 {
					t.Errorf("%v, %v", events, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.errorContains) {
				t.Errorf("error %v", err)
			}
		})
	}
}
