package analyze_test

import (
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestCallbackOffCPU: times off the CPU are counted by callback, kind and command; those outside of callbacks are not.
func TestCallbackOffCPU(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer, other := s.timer(n, 50), s.timer(n, 70)
	s.runs(n, timer, 1000, 2000)
	s.runs(n, other, 3000, 4000)
	process := s.rows.Callbacks[0].ProcessKey
	off := func(callback trace.Address, start, out, in int64, kind trace.SchedKind, command string) {
		row := trace.Sched{ProcessKey: process, TID: 1, Kind: kind, SchedOutTimestamp: out, SchedInTimestamp: in, Callback: callback, OtherCommand: command}
		if callback != 0 {
			row.CallbackStartTimestamp = trace.Some(start)
		}
		s.rows.Scheds = append(s.rows.Scheds, row)
	}
	off(timer, 1000, 1100, 1110, trace.SchedPreempted, "hog")
	off(timer, 1000, 1200, 1230, trace.SchedPreempted, "hog")
	off(timer, 1000, 1300, 1305, trace.SchedBlocked, "hog")
	off(timer, 1000, 1400, 1406, trace.SchedBlocked, "")
	off(0, 0, 2500, 2600, trace.SchedBlocked, "hog")
	off(other, 3000, 3100, 3107, trace.SchedPreempted, "hog")
	var instances []analyze.TimeOffCPU
	results, err := s.query(analyze.Filter{}).CallbackOffCPU(t.Context(), func(batch []analyze.TimeOffCPU) error {
		instances = append(instances, batch...)
		return nil
	})
	if err != nil || len(results) != 4 || len(instances) != 5 {
		t.Fatalf("%+v, %+v, %v", results, instances, err)
	}
	want := []analyze.CallbackOffCPU{
		{Kind: trace.SchedBlocked, Count: 1, Total: 6, Mean: 6, Longest: 6},
		{Kind: trace.SchedBlocked, Other: "hog", Count: 1, Total: 5, Mean: 5, Longest: 5},
		{Kind: trace.SchedPreempted, Other: "hog", Count: 2, Total: 40, Mean: 20, Longest: 30},
		{Kind: trace.SchedPreempted, Other: "hog", Count: 1, Total: 7, Mean: 7, Longest: 7},
	}
	for i := range want {
		want[i].CallbackLabel = results[i].CallbackLabel
		if results[i] != want[i] || results[i].Node != "/n" {
			t.Errorf("got  %+v\nwant %+v", results[i], want[i])
		}
	}
	if results[2].CallbackLabel == results[3].CallbackLabel {
		t.Error("two callbacks are one")
	}
	if first := instances[0]; first.Begin != 1100 || first.Latency != 10 || first.Other != "hog" {
		t.Errorf("%+v", first)
	}
}

// TestNoTimesOffCPU: where none was recorded the answer is not that there was none.
func TestNoTimesOffCPU(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	s.runs(n, s.timer(n, 50), 1000, 2000)
	if _, err := s.query(analyze.Filter{}).CallbackOffCPU(t.Context(), nil); !errors.Is(err, analyze.ErrNoTimesOffCPU) {
		t.Errorf("%v", err)
	}
}
