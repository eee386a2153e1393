package analyze_test

import (
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// parted adds an execution with the parts of its duration.
func (s *recording) parted(n testNode, callback trace.Address, start int64, parts analyze.Parts, preemptions, migrations int32) {
	s.runs(n, callback, start, start+parts.CPUTime+parts.PreemptedTime+parts.BlockedTime+parts.WakeupLatency)
	row := &s.rows.Callbacks[len(s.rows.Callbacks)-1]
	tracetest.SetParts(row, parts.CPUTime, parts.PreemptedTime, parts.BlockedTime, parts.WakeupLatency, preemptions, migrations)
}

// TestCallbackParts: means are of the executions whose parts are known, and the others are counted.
func TestCallbackParts(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer, other := s.timer(n, 50), s.timer(n, 70)
	s.parted(n, timer, 1000, analyze.Parts{CPUTime: 10, PreemptedTime: 20, BlockedTime: 30, WakeupLatency: 40}, 2, 1)
	s.parted(n, timer, 2000, analyze.Parts{CPUTime: 11, PreemptedTime: 0, BlockedTime: 100, WakeupLatency: 1}, 0, 1)
	s.runs(n, timer, 3000, 9000)
	s.runs(n, other, 9500, 9600)
	q := s.query(analyze.Filter{})
	var instances []analyze.PartedExecution
	results, err := q.CallbackParts(t.Context(), func(batch []analyze.PartedExecution) error {
		instances = append(instances, batch...)
		return nil
	})
	if err != nil || len(results) != 2 || len(instances) != 2 {
		t.Fatalf("%+v, %+v, %v", results, instances, err)
	}
	got := results[0]
	want := analyze.CallbackParts{
		CallbackLabel: got.CallbackLabel, Count: 2, Unknown: 1, Mean: trace.Some[int64](106), CPUTime: trace.Some[int64](11), PreemptedTime: trace.Some[int64](10),
		BlockedTime: trace.Some[int64](65), WakeupLatency: trace.Some[int64](21), Preemptions: trace.Some[int64](2), Migrations: trace.Some[int64](2),
		Longest: trace.Some[int64](112), LongestCPUTime: trace.Some[int64](11), LongestPreemptedTime: trace.Some[int64](0),
		LongestBlockedTime: trace.Some[int64](100), LongestWakeupLatency: trace.Some[int64](1),
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if nothing := (analyze.CallbackParts{CallbackLabel: results[1].CallbackLabel, Unknown: 1}); results[1] != nothing {
		t.Errorf("of the other callback nothing is known: %+v", results[1])
	}
	first := analyze.PartedExecution{
		CallbackLabel: got.CallbackLabel, Begin: instances[0].Begin, Latency: 100,
		Parts: analyze.Parts{CPUTime: 10, PreemptedTime: 20, BlockedTime: 30, WakeupLatency: 40}, Preemptions: 2, Migrations: 1,
	}
	if instances[0] != first {
		t.Errorf("got  %+v\nwant %+v", instances[0], first)
	}
}

// TestNoScheduling: a recording without parts is no recording of callbacks without a duration.
func TestNoScheduling(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	s.runs(n, s.timer(n, 50), 1000, 2000)
	if _, err := s.query(analyze.Filter{}).CallbackParts(t.Context(), nil); !errors.Is(err, analyze.ErrNoScheduling) {
		t.Errorf("%v", err)
	}
}
