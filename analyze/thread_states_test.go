package analyze_test

import (
	"math"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// TestThreadStates: what comes behind the last callback is told, too, and nothing that runs comes after an instant that
// was passed on before. Little is in memory at a time.
func TestThreadStates(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer := s.timer(n, 1000)
	const callbacks = 8000
	for i := range int64(callbacks) {
		at := 10_000 + i*time.Millisecond.Nanoseconds()
		s.parted(n, timer, at, analyze.Parts{CPUTime: 90, PreemptedTime: 10}, 1, 0)
		s.rows.Scheds = append(s.rows.Scheds, trace.Sched{
			ProcessKey: n.key, Kind: trace.SchedPreempted, SchedOutTimestamp: at + 40, SchedInTimestamp: at + 50, Priority: 120,
			Callback: timer, CallbackStartTimestamp: trace.Some(at),
		}, trace.Sched{ProcessKey: n.key, Kind: trace.SchedBlocked, SchedOutTimestamp: at + 200, SchedInTimestamp: at + 900, WakingTimestamp: trace.Some(at + 890), Priority: 120})
	}
	later := s.rows.Callbacks[callbacks/4:]
	s.rows.Callbacks = s.rows.Callbacks[:callbacks/4]
	s.write()
	for i := range 3 {
		tracetest.AddSegment(t, s.dir, 1+i, later[callbacks/4*i:callbacks/4*(i+1)])
	}
	q := newQuery(t, analyze.Filter{}, tracetest.Open(t, s.dir))
	spent, complete, batches, most := make(map[analyze.ThreadActivity]int64), int64(math.MinInt64), 0, 0
	err := q.ThreadStates(t.Context(), func(states []analyze.ThreadState, until int64) error {
		for _, state := range states {
			spent[state.Activity] += state.Until - state.From
			if state.Activity == analyze.ThreadRunning && state.From < complete {
				t.Errorf("%+v comes after %d", state, complete)
			}
		}
		most = max(most, len(states))
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
	if batches < 3 || complete != math.MaxInt64 {
		t.Errorf("%d batches until %d", batches, complete)
	}
	if most > 3*callbacks { // not those of all callbacks, which are read at once
		t.Errorf("%d states are passed on at a time", most)
	}
}

// TestThreadStatesOfSeveral: of several recordings all is told, whichever has fewer callbacks.
func TestThreadStatesOfSeveral(t *testing.T) {
	const times = 40_000
	var datasets []*trace.Dataset
	for _, pid := range []int32{100, 200} {
		s := newRecording(t)
		s.key = processKey(pid)
		n := s.node("/n")
		for i := range int64(times) {
			s.rows.Scheds = append(s.rows.Scheds, trace.Sched{ProcessKey: n.key, TID: pid, Kind: trace.SchedPreempted, SchedOutTimestamp: 1000 + i*1_000_000, SchedInTimestamp: 1010 + i*1_000_000})
		}
		datasets = append(datasets, s.write())
	}
	told := make(map[int32]int)
	err := newQuery(t, analyze.Filter{}, datasets...).ThreadStates(t.Context(), func(states []analyze.ThreadState, _ int64) error {
		for _, state := range states {
			told[state.TID]++
		}
		return nil
	})
	if err != nil || told[100] != 2*times || told[200] != 2*times {
		t.Errorf("%v, want %d of each: %v", told, 2*times, err)
	}
}

// What a thread did in callbacks is told once, however many of them a dataset has at a time.
func TestThreadStatesOfOverlappingCallbacks(t *testing.T) {
	s := newRecording(t)
	n := s.node("/n")
	timer := s.timer(n, 1000)
	const callbacks = 20
	for i := range int64(callbacks) {
		s.parted(n, timer, 10_000+i, analyze.Parts{CPUTime: 90, PreemptedTime: 10}, 1, 0)
	}
	s.rows.Scheds = []trace.Sched{{ProcessKey: n.key, Kind: trace.SchedPreempted, SchedOutTimestamp: 10_040, SchedInTimestamp: 10_050, Priority: 120}}
	s.write()
	spent := make(map[analyze.ThreadActivity]int64)
	if err := newQuery(t, analyze.Filter{}, tracetest.Open(t, s.dir)).ThreadStates(t.Context(), func(states []analyze.ThreadState, _ int64) error {
		for _, state := range states {
			spent[state.Activity] += state.Until - state.From
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if spent[analyze.ThreadRunning] != 90+1 || spent[analyze.ThreadRunnable] != 10 {
		t.Errorf("%v", spent)
	}
}
