package analyze_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Threads are those that ran callbacks, published or took messages, with how many callbacks each ran.
func TestThreads(t *testing.T) {
	s := newRecording(t)
	other := processKey(200)
	ran := func(of trace.ProcessKey, tid int32, at int64) {
		s.rows.Callbacks = append(s.rows.Callbacks, trace.Callback{
			ProcessKey: of, TID: tid, Callback: 1, CallbackStartTimestamp: trace.Some(at), CallbackEndTimestamp: trace.Some(at + 1), Status: trace.CallbackComplete,
		})
	}
	ran(other, 5, 1000)
	ran(robot, 9, 1000)
	ran(robot, 9, 1010)
	s.rows.Publishes = []trace.Publish{{ProcessKey: robot, TID: 7, RclcppPublishTimestamp: trace.Some[int64](1005)}}
	s.rows.Takes = []trace.Take{{ProcessKey: robot, TID: 8, RMWTakeTimestamp: trace.Some[int64](1006)}}
	q := s.query(analyze.Filter{})
	for name, test := range map[string]struct {
		filter analyze.Filter
		want   []analyze.Thread
	}{
		"all":       {analyze.Filter{}, []analyze.Thread{{Process: robot, TID: 7}, {Process: robot, TID: 8}, {Process: robot, TID: 9}, {Process: other, TID: 5}}},
		"a process": {analyze.Filter{Processes: []int32{200}}, []analyze.Thread{{Process: other, TID: 5}}},
		"later":     {analyze.Filter{From: trace.Some[int64](5000)}, nil},
	} {
		threads, executions, err := q.With(test.filter).Threads(t.Context())
		if err != nil || len(threads) != len(test.want) {
			t.Errorf("%s: %v, %v", name, threads, err)
			continue
		}
		for i, of := range test.want {
			if count := map[int32]int{5: 1, 9: 2}[of.TID]; threads[i] != of || executions[of] != count {
				t.Errorf("%s: thread %d is %v with %d executions, want %v with %d", name, i, threads[i], executions[threads[i]], of, count)
			}
		}
	}
}
