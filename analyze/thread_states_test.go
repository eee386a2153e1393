package analyze_test

import (
	"math"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestThreadStates: what comes behind the last callback is told, too, and nothing that runs comes after an instant that
// was passed on before.
func TestThreadStates(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer := s.timer(n, 1000)
	const callbacks = 400
	for i := range int64(callbacks) {
		s.parted(n, timer, 10_000+1000*i, analyze.Parts{CPUTime: 90, PreemptedTime: 10}, 1, 0)
		s.rows.Scheds = append(s.rows.Scheds, trace.Sched{
			ProcessKey: n.key, Kind: trace.SchedPreempted, SchedOutTimestamp: 10_040 + 1000*i, SchedInTimestamp: 10_050 + 1000*i, Priority: 120,
			Callback: timer, CallbackStartTimestamp: trace.Some(10_000 + 1000*i),
		}, trace.Sched{ProcessKey: n.key, Kind: trace.SchedBlocked, SchedOutTimestamp: 10_200 + 1000*i, SchedInTimestamp: 10_900 + 1000*i, WakingTimestamp: trace.Some(10_890 + 1000*i), Priority: 120})
	}
	later := s.rows.Callbacks[callbacks/4:]
	s.rows.Callbacks = s.rows.Callbacks[:callbacks/4]
	s.write()
	for i := range 3 {
		tracetest.AddSegment(t, s.dir, 1+i, later[callbacks/4*i:callbacks/4*(i+1)])
	}
	q := newQuery(t, analyze.Filter{}, tracetest.Open(t, s.dir))
	q.WindowRows = 1
	spent, complete, batches := make(map[analyze.ThreadActivity]int64), int64(math.MinInt64), 0
	err := q.ThreadStates(t.Context(), func(states []analyze.ThreadState, until int64) error {
		for _, state := range states {
			spent[state.Activity] += state.Until - state.From
			if state.Activity == analyze.ThreadRunning && state.From < complete {
				t.Errorf("%+v comes after %d", state, complete)
			}
		}
		if batches++; until < complete {
			t.Errorf("%d comes after %d", until, complete)
		}
		complete = until
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The instants at which the thread was back, inside and outside of callbacks, come by themselves, too.
	want := map[analyze.ThreadActivity]int64{analyze.ThreadRunning: callbacks * (90 + 2), analyze.ThreadRunnable: callbacks * (10 + 10), analyze.ThreadBlocked: callbacks * 690}
	for activity, time := range want {
		if spent[activity] != time {
			t.Errorf("%s for %d, want %d", activity, spent[activity], time)
		}
	}
	if batches != 9 || complete != math.MaxInt64 {
		t.Errorf("%d batches until %d", batches, complete)
	}
}
