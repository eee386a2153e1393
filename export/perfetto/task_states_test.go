package perfetto_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/perfetto"
	"github.com/caret-bpf/caret-bpf/export/perfetto/perfettotest"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// off is a time off the CPU, which leads from a CPU to another. It is one of a thread that blocked if woken is not 0.
func off(tid int32, out, woken, in int64, outCPU, inCPU int32) trace.Sched {
	row := trace.Sched{ProcessKey: robot, TID: tid, Kind: trace.SchedPreempted, SchedOutTimestamp: begin + out, SchedInTimestamp: begin + in, OutCPU: outCPU, InCPU: inCPU, Priority: 120}
	if woken != 0 {
		row.Kind, row.WakingTimestamp = trace.SchedBlocked, trace.Some(begin+woken)
	}
	return row
}

// notWoken is a time in which the thread waited, and nobody was seen to wake it.
func notWoken(row trace.Sched) trace.Sched {
	row.Kind, row.WakingTimestamp = trace.SchedBlocked, trace.Optional[int64]{}
	return row
}

// tasksOf lists what Perfetto shows of a thread: "from-until state". What has no end is unknown.
func tasksOf(of *perfettotest.Trace, tid int64) (lines []string) {
	for _, s := range of.Tasks {
		if s.TID != tid {
			continue
		}
		line := map[uint64]string{perfettotest.StateUnknown: "unknown", perfettotest.StateRunnable: "runnable", perfettotest.StateRunning: "running", perfettotest.StateSleeping: "sleeping"}[s.State]
		if s.State == perfettotest.StateRunning {
			line += fmt.Sprintf(" on %d", s.CPU)
		}
		if s.Until == 0 {
			lines = append(lines, fmt.Sprintf("%d- %s", s.From-begin, line))
		} else {
			lines = append(lines, fmt.Sprintf("%d-%d %s", s.From-begin, s.Until-begin, line))
		}
	}
	return lines
}

// Perfetto shows what threads did where that is known: off the CPU, at the instant at which they were back, and in
// callbacks of which nothing is missing. All else is unknown.
func TestTaskStates(t *testing.T) {
	const complete = trace.CallbackComplete
	before := off(1, 1, 4, 5, 1, 1) // by which the priority is known
	for name, test := range map[string]struct {
		callbacks []trace.Callback
		times     []trace.Sched
		losses    []trace.Loss
		want      []string
	}{
		"without a callback": {
			times: []trace.Sched{off(1, 10, 14, 20, 1, 1), off(1, 30, 0, 40, 1, 2), notWoken(off(1, 50, 1, 60, 2, 2))},
			want: []string{
				"10-14 sleeping", "14-20 runnable", "20-21 running on 1", "21-30 unknown", "30-40 runnable", "40-41 running on 2", "41-50 unknown",
				"50-60 sleeping", "60-61 running on 2", "61- unknown",
			},
		},
		"in a callback": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 100, complete, 0), 66, 10, 8, 6)},
			times:     []trace.Sched{before, off(1, 20, 28, 34, 1, 1), off(1, 40, 0, 50, 1, 3)},
			want: []string{
				"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-10 unknown", "10-20 running on 1", "20-28 sleeping", "28-34 runnable", "34-40 running on 1",
				"40-50 runnable", "50-100 running on 3", "100- unknown",
			},
		},
		"woken before it was off, and back when its callback began": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 5, 30, complete, 0), 15, 0, 0, 10)},
			times:     []trace.Sched{before, off(1, 10, 9, 20, 1, 1)},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-10 running on 1", "10-20 runnable", "20-30 running on 1", "30- unknown"},
		},
		"of a priority that is not known yet": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 50, complete, 0), 30, 10, 0, 0)},
			times:     []trace.Sched{off(1, 20, 0, 30, 1, 1)},
			want:      []string{"20-30 runnable", "30-50 running on 1", "50- unknown"},
		},
		"in a callback whose parts are not known": {
			callbacks: []trace.Callback{ran(1, 0x13, 10, 50, complete, 0)},
			times:     []trace.Sched{before, off(1, 20, 0, 30, 1, 1)},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-20 unknown", "20-30 runnable", "30-31 running on 1", "31- unknown"},
		},
		"in a callback of which a time is missing": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 50, complete, 0), 20, 20, 0, 0)},
			times:     []trace.Sched{before, off(1, 20, 0, 30, 1, 1)},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-20 unknown", "20-30 runnable", "30-31 running on 1", "31- unknown"},
		},
		"in a callback that another CPU is left in": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 50, complete, 0), 30, 10, 0, 0)},
			times:     []trace.Sched{before, off(1, 20, 0, 30, 2, 1)},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-20 unknown", "20-30 runnable", "30-31 running on 1", "31- unknown"},
		},
		"where records were lost": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 30, complete, 0), 20, 0, 0, 0), parted(ran(1, 0x13, 40, 60, complete, 0), 20, 0, 0, 0)},
			times:     []trace.Sched{before},
			losses:    []trace.Loss{{Kind: trace.LostSched, Reason: trace.LossRingFull, FromTimestamp: begin + 20, ToTimestamp: begin + 25, Count: 1}},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-40 unknown", "40-60 running on 1", "60- unknown"},
		},
		"where others were lost": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 30, complete, 0), 20, 0, 0, 0)},
			times:     []trace.Sched{before},
			losses:    []trace.Loss{{Kind: trace.LostPublish, Reason: trace.LossRingFull, FromTimestamp: begin + 20, ToTimestamp: begin + 25, Count: 1}},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-10 unknown", "10-30 running on 1", "30- unknown"},
		},
		"in a callback that did not end": {
			callbacks: []trace.Callback{ran(1, 0x13, 10, 0, trace.CallbackRecordingEnd, 0)},
			times:     []trace.Sched{before},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6- unknown"},
		},
		"in a callback of more than a minute": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 60_000_000_011, complete, 0), 60_000_000_001, 0, 0, 0), parted(ran(1, 0x13, 60_000_000_020, 120_000_000_020, complete, 0), 60_000_000_000, 0, 0, 0)},
			times:     []trace.Sched{before},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-60000000020 unknown", "60000000020-120000000020 running on 1", "120000000020- unknown"},
		},
		"in callbacks within another": {
			callbacks: []trace.Callback{parted(ran(1, 0x24, 20, 30, complete, 1), 10, 0, 0, 0), parted(ran(1, 0x13, 10, 50, complete, 0), 40, 0, 0, 0)},
			times:     []trace.Sched{before},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-10 unknown", "10-50 running on 1", "50- unknown"},
		},
		"in a callback within one of which nothing is known": {
			callbacks: []trace.Callback{parted(ran(1, 0x24, 20, 30, complete, 1), 10, 0, 0, 0), ran(1, 0x13, 10, 50, complete, 0)},
			times:     []trace.Sched{before},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-20 unknown", "20-30 running on 1", "30- unknown"},
		},
		"where another thread runs on the same CPU": { // which cannot be
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 50, complete, 0), 40, 0, 0, 0), parted(ran(2, 0x24, 20, 40, complete, 0), 20, 0, 0, 0)},
			times:     []trace.Sched{before, off(2, 6, 0, 8, 1, 1)},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-10 unknown", "10-20 running on 1", "20- unknown"},
		},
		"where one thread follows another by a coarse clock": {
			callbacks: []trace.Callback{parted(ran(1, 0x13, 10, 50, complete, 0), 40, 0, 0, 0), parted(ran(2, 0x24, 50, 60, complete, 0), 10, 0, 0, 0)},
			times:     []trace.Sched{before, off(2, 6, 0, 50, 1, 1)},
			want:      []string{"1-4 sleeping", "4-5 runnable", "5-6 running on 1", "6-10 unknown", "10-50 running on 1", "50- unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rows := system()
			rows.Callbacks, rows.Scheds, rows.Losses = test.callbacks, test.times, test.losses
			decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{TaskStates: true})
			wantLines(t, "states", tasksOf(decoded, 1), test.want...)
			if err := decoded.CheckTasks(); err != nil {
				t.Error(err)
			}
			if summary.TaskStates == 0 {
				t.Errorf("%+v", summary)
			}
		})
	}
}

// A thread has the CPU with its priority, and the first one of a process its name.
func TestTasksHaveNamesAndPriorities(t *testing.T) {
	rows := system()
	urgent := off(robot.PID, 10, 0, 20, 1, 2)
	urgent.Priority = -1
	rows.Scheds = []trace.Sched{urgent, off(78, 30, 0, 40, 1, 3)}
	decoded, _ := export(t, rows, analyze.Filter{}, perfetto.Options{TaskStates: true})
	var lines []string
	for _, c := range decoded.CPUs {
		if c.TID != 0 {
			lines = append(lines, fmt.Sprintf("thread %d on %d from %d until %d, priority %d", c.TID, c.CPU, c.From-begin, c.Until-begin, c.Priority))
		}
	}
	wantLines(t, "on CPUs", lines, "thread 77 on 2 from 20 until 21, priority -1", "thread 78 on 3 from 40 until 41, priority 120")
	names, threads := make(map[int64]string), make(map[int64]bool)
	for _, s := range decoded.Tasks {
		names[s.TID] += s.Command
	}
	if names[77] != "robotrobot" || names[78] != "" {
		t.Errorf("the names are %v", names)
	}
	for _, track := range decoded.Tracks {
		threads[track.TID] = track.TID != 0 && track.PID == 77
	}
	if !threads[77] || !threads[78] {
		t.Errorf("of the process are %v", threads)
	}
}

// They are drawn only if they are asked for and were recorded.
func TestNoTaskStates(t *testing.T) {
	rows := system()
	rows.Callbacks, rows.Scheds = []trace.Callback{parted(ran(1, 0x13, 10, 30, trace.CallbackComplete, 0), 10, 10, 0, 0)}, []trace.Sched{off(1, 12, 0, 22, 1, 1)}
	for name, test := range map[string]struct {
		filter analyze.Filter
		asked  bool
	}{
		"not asked for": {},
		"of a node":     {analyze.Filter{Nodes: []*regexp.Regexp{regexp.MustCompile("/sensor")}}, true},
		"of a process":  {analyze.Filter{Processes: []int32{1}}, true},
		"of a time":     {analyze.Filter{From: trace.Some(begin + 80)}, true},
	} {
		if decoded, summary := export(t, rows, test.filter, perfetto.Options{TaskStates: test.asked}); len(decoded.Tasks)+len(decoded.CPUs) > 0 || summary.TaskStates > 0 {
			t.Errorf("%s: %d states, %+v", name, len(decoded.Tasks), summary)
		}
	}
	dir := t.TempDir()
	rows.Scheds = nil
	tracetest.AddSegments(t, dir, 0, rows)
	tracetest.AddSession(t, dir, trace.NewSession())
	d := tracetest.Open(t, dir)
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, d)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := perfetto.Write(t.Context(), &out, d, q, perfetto.Options{Compression: perfetto.Zstd, TaskStates: true}); !errors.Is(err, analyze.ErrNoTimesOffCPU) {
		t.Error(err)
	}
}

// However many threads get a CPU at one time, as a damaged dataset may have it, they get it one after the other: each
// is told how much later at once.
func TestManyTasksAtOneTime(t *testing.T) {
	const threads = 20_000
	rows := system()
	for tid := range int32(threads) {
		rows.Scheds = append(rows.Scheds, off(1+tid, 10, 0, 20, 1, 2))
	}
	decoded, _ := export(t, rows, analyze.Filter{}, perfetto.Options{TaskStates: true})
	if err := decoded.CheckTasks(); err != nil {
		t.Error(err)
	}
	runs, last := 0, int64(0)
	for _, c := range decoded.CPUs {
		if c.TID != 0 {
			runs++
			last = max(last, c.From-begin)
		}
	}
	if runs != threads || last != 20+threads-1 {
		t.Errorf("%d threads get the CPU until %d", runs, last)
	}
}

// randomScheduling is what threads of several processes might have done by a clock that is coarse, and by a dataset
// that contradicts itself.
func randomScheduling(random *rand.Rand) *trace.Batch {
	rows := system()
	const span = 200
	for range 60 {
		tid, from := 1+random.Int32N(4), 1+random.Int64N(span)
		row := parted(ran(tid, 0x13, from, from+random.Int64N(40), trace.CallbackComplete, random.Int32N(2)), random.Int64N(30), random.Int64N(3), 0, 0)
		row.CPU = random.Int32N(3)
		rows.Callbacks = append(rows.Callbacks, row)
	}
	for range 100 {
		out := 1 + random.Int64N(span)
		in := out + random.Int64N(20) - 2
		row := off(1+random.Int32N(5)-1, out, random.Int64N(2)*(out+random.Int64N(12)-3), in, random.Int32N(4)-1, random.Int32N(3))
		row.ProcessStart += random.Int64N(2)
		rows.Scheds = append(rows.Scheds, row)
	}
	return rows
}

// Whatever a dataset holds, no thread is in two states at a time, no CPU has two threads, and nothing is said of a
// thread after its last event.
func TestArbitraryTaskStates(t *testing.T) {
	for seed := range uint64(60) {
		rows := randomScheduling(rand.New(rand.NewPCG(seed, 1)))
		decoded, summary := export(t, rows, analyze.Filter{}, perfetto.Options{TaskStates: true})
		if err := decoded.CheckTasks(); err != nil || summary.TaskStates == 0 {
			t.Fatalf("seed %d: %v, %+v", seed, err, summary)
		}
		requireTasksInRows(t, decoded, rows.Scheds)
	}
}

// requireTasksInRows requires that a thread is off the CPU only when a row says so. Where a clock is too coarse to tell
// which thread got a CPU first, one gets it some nanoseconds later.
func requireTasksInRows(t *testing.T, decoded *perfettotest.Trace, rows []trace.Sched) {
	t.Helper()
	for _, s := range decoded.Tasks {
		if s.State != perfettotest.StateRunnable && s.State != perfettotest.StateSleeping {
			continue
		}
		if !slices.ContainsFunc(rows, func(row trace.Sched) bool {
			return int64(row.TID) == s.TID && row.SchedOutTimestamp <= s.From && s.Until <= row.SchedInTimestamp+4
		}) {
			t.Fatalf("thread %d is off the CPU from %d until %d", s.TID, s.From-begin, s.Until-begin)
		}
	}
}
