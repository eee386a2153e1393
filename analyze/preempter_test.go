package analyze_test

import (
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// byThread names who had the CPU in a row of table sched.
func byThread(row *trace.Sched, command string, pid, tid int32) {
	row.OtherCommand, row.OtherPID, row.OtherTID, row.OtherPriority = command, trace.Some(pid), trace.Some(tid), trace.Some[int32](49)
}

func preempter(command string, pid, tid int32, time int64) analyze.Preempter {
	return analyze.Preempter{PreemptedBy: command, PreemptedByPID: trace.Some(pid), PreemptedByTID: trace.Some(tid), PreemptedByTime: trace.Some(time)}
}

// preemptedCallbacks are two executions of a callback, each preempted by several threads, one of them within a callback
// that is nested in the first execution.
func preemptedCallbacks(t *testing.T) *recording {
	s := newRecording(t)
	n := s.node("/n")
	timer, nested := s.timer(n, 50), s.timer(n, 70)
	s.parted(n, timer, 1000, analyze.Parts{CPUTime: 40, PreemptedTime: 60}, 3, 0)
	s.parted(n, nested, 1050, analyze.Parts{CPUTime: 10, PreemptedTime: 25}, 1, 0)
	s.rows.Callbacks[1].Depth = 1
	s.parted(n, timer, 2000, analyze.Parts{CPUTime: 70, PreemptedTime: 30}, 1, 0)
	off := func(out, in int64, callback trace.Address, start int64, command string, tid int32) {
		row := trace.Sched{ProcessKey: n.key, Kind: trace.SchedPreempted, SchedOutTimestamp: out, SchedInTimestamp: in, Callback: callback, CallbackStartTimestamp: trace.Some(start)}
		if command != "" {
			byThread(&row, command, 7, tid)
		}
		s.rows.Scheds = append(s.rows.Scheds, row)
	}
	off(1010, 1030, timer, 1000, "hog", 8)
	off(1055, 1080, nested, 1050, "other", 9)
	off(1085, 1100, timer, 1000, "", 0) // by the idle thread: its group had used up its quota
	off(2010, 2040, timer, 2000, "hog", 8)
	off(2200, 2900, 0, 0, "later", 10) // outside of callbacks
	s.rows.Scheds[4].CallbackStartTimestamp = trace.Optional[int64]{}
	return s
}

// TestPreempters: the thread is named that had the CPU longest, in each execution and in all of them, also where that
// was within a nested callback. It had it for no longer than the callback was preempted.
func TestPreempters(t *testing.T) {
	q := preemptedCallbacks(t).query(analyze.Filter{})
	var instances []analyze.PartedExecution
	results, err := q.CallbackParts(t.Context(), func(batch []analyze.PartedExecution) error {
		instances = append(instances, batch...)
		return nil
	})
	if err != nil || len(results) != 2 || len(instances) != 3 || len(q.Warnings) > 0 {
		t.Fatalf("%+v, %+v, %v, %q", results, instances, err, q.Warnings)
	}
	for i, want := range []analyze.Preempter{preempter("other", 7, 9, 25), preempter("other", 7, 9, 25), preempter("hog", 7, 8, 30)} {
		if instances[i].Preempter != want {
			t.Errorf("execution %d was preempted by %+v, want %+v", i, instances[i].Preempter, want)
		}
	}
	for i, want := range []analyze.Preempter{preempter("hog", 7, 8, 25), preempter("other", 7, 9, 25)} {
		if results[i].Preempter != want || results[i].PreemptedByTime.Value > results[i].PreemptedTime.Value {
			t.Errorf("callback %d was preempted by %+v, want %+v", i, results[i].Preempter, want)
		}
	}
}

// TestUnknownPreempters: without times off the CPU nobody is named, and the answer says so.
func TestUnknownPreempters(t *testing.T) {
	s := preemptedCallbacks(t)
	s.rows.Scheds = nil
	q := s.query(analyze.Filter{})
	results, err := q.CallbackParts(t.Context(), nil)
	if err != nil || len(results) != 2 || results[0].Preempter != (analyze.Preempter{}) || results[0].PreemptedTime.Value != 45 {
		t.Errorf("%+v, %v", results, err)
	}
	if len(q.Warnings) != 1 || !strings.Contains(q.Warnings[0], "record --sched=full") {
		t.Errorf("warnings: %q", q.Warnings)
	}
}

// TestPreemptersBefore: of the time before a callback, who preempted its thread outside of others is named.
func TestPreemptersBefore(t *testing.T) {
	s, _ := busyThread(t)
	byThread(&s.rows.Scheds[1], "hog", 7, 8)
	byThread(&s.rows.Scheds[3], "another", 7, 9) // in the callback that it was behind
	results, instances := delaysOf(t, s, analyze.Filter{})
	if got, want := instances[1].Preempter, preempter("hog", 7, 8, 20); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, r := range results {
		if isTimer := r.Since == analyze.DelayDue; isTimer && r.OtherCallbacks.Value > 0 {
			if want := preempter("hog", 7, 8, 20/int64(r.Count)); r.Preempter != want {
				t.Errorf("got %+v, want %+v", r.Preempter, want)
			}
		} else if r.Preempter != (analyze.Preempter{}) {
			t.Errorf("%+v was preempted by somebody", r)
		}
	}
}

// TestPreemptersOnPaths: they are named hop by hop, and of the path the one that had the CPU longest in all.
func TestPreemptersOnPaths(t *testing.T) {
	s := partedSystem(t)
	byThread(&s.rows.Scheds[0], "hog", 7, 8)
	byThread(&s.rows.Scheds[1], "other", 7, 9)
	for name, options := range map[string]analyze.PathOptions{"until the last message": {}, "until the end of the last callback": {LastCallback: true}} {
		t.Run(name, func(t *testing.T) {
			results, instances, err := pathPartsOf(t, s, options)
			if err != nil {
				t.Fatal(err)
			}
			want := []analyze.Preempter{preempter("hog", 7, 8, 20), preempter("other", 7, 9, 10), {}, {}}
			for i, h := range instances {
				if h.Preempter != want[i] || results[i+1].Preempter != want[i] {
					t.Errorf("hop %d was preempted by %+v, by %+v, want %+v", i+1, h.Preempter, results[i+1].Preempter, want[i])
				}
			}
			if results[0].Preempter != want[0] {
				t.Errorf("the path was preempted by %+v, want %+v", results[0].Preempter, want[0])
			}
		})
	}
}

// TestPreemptersInTheLastCallback: its whole execution counts, of which times off the CPU come after its start.
func TestPreemptersInTheLastCallback(t *testing.T) {
	s := partedSystem(t)
	last := &s.rows.Callbacks[len(s.rows.Callbacks)-1]
	last.CPUTime, last.PreemptedTime = trace.Some[int64](25), trace.Some[int64](15)
	row := trace.Sched{
		ProcessKey: last.ProcessKey, TID: last.TID, Kind: trace.SchedPreempted, SchedOutTimestamp: 1470, SchedInTimestamp: 1485,
		Callback: last.Callback, CallbackStartTimestamp: last.CallbackStartTimestamp,
	}
	byThread(&row, "hog", 7, 8)
	s.rows.Scheds = append(s.rows.Scheds, row)
	_, instances, err := pathPartsOf(t, s, analyze.PathOptions{LastCallback: true})
	if err != nil || len(instances) != 4 {
		t.Fatalf("%+v, %v", instances, err)
	}
	if want := preempter("hog", 7, 8, 15); instances[3].Preempter != want || instances[3].PreemptedTime != 15 {
		t.Errorf("%+v, want %+v", instances[3], want)
	}
}
