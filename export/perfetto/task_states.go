package perfetto

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// taskStates writes what threads did as states of the kernel's tasks, from which Perfetto makes its tables thread_state
// and sched. There a state lasts until the thread's next one, and nothing says that it is not known any more. But when
// a CPU goes on to another thread, the one that ran there is in a state that is not known. So where a thread is last
// known to run, the idle thread runs on its CPU, for no time. Of a thread that does not run it is always known when it
// runs again.
//
// Perfetto tells threads apart by their ID, and takes states in the order of time, those of one time as they are
// written: states are written in that order, and what Perfetto makes of them is kept here.
type taskStates struct {
	*drawing
	pending pendingStates
	ends    runEnds
	tasks   map[int32]*task // by thread ID
	cpus    map[int32]*task // which runs there, as far as is known
	// later is by CPU when the last one gets it that was to get it together with others.
	later map[int32]int64
}

// task is what Perfetto knows of a thread.
type task struct {
	process trace.ProcessKey
	thread  []byte // its ID and, if that is known, its name
	// activity is "" if it is not known.
	activity analyze.ThreadActivity
	cpu      int32
	// changed is when it began, until is up to when it is known.
	changed, until int64
	priority       trace.Optional[int32]
}

// inOrder compares states by when they begin. Of those that begin at one time threads leave CPUs first, so that others
// find them free. Then the longest comes first: it says most.
func inOrder(a, b *analyze.ThreadState) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Until, a.Until), cmp.Compare(a.TID, b.TID))
}

func rank(s *analyze.ThreadState) int {
	if s.Activity == analyze.ThreadRunning {
		return 1
	}
	return 0
}

// runEnd is until when a thread is known to run.
type runEnd struct {
	at  int64
	tid int32
}

// pendingStates are lists, none empty, each in order. It is a heap: the first state of all comes first.
type pendingStates [][]analyze.ThreadState

func (p pendingStates) Len() int { return len(p) }

func (p pendingStates) Less(i, j int) bool { return inOrder(&p[i][0], &p[j][0]) < 0 }

func (p pendingStates) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push and Pop are for package heap.
func (p *pendingStates) Push(x any) { *p = append(*p, x.([]analyze.ThreadState)) }

// Pop removes the last.
func (p *pendingStates) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	return x
}

// runEnds is a heap.
type runEnds []runEnd

func (e runEnds) Len() int { return len(e) }

func (e runEnds) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].tid, e[j].tid)) < 0
}

func (e runEnds) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push and Pop are for package heap.
func (e *runEnds) Push(x any) { *e = append(*e, x.(runEnd)) }

// Pop removes the last.
func (e *runEnds) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

func newTaskStates(d *drawing) *taskStates {
	return &taskStates{drawing: d, tasks: make(map[int32]*task), cpus: make(map[int32]*task), later: make(map[int32]int64)}
}

// mostCPUs is how many Perfetto can tell apart.
const mostCPUs = 1 << 16

// add adds states, and writes what happens before an instant.
func (t *taskStates) add(states []analyze.ThreadState, complete int64) error {
	// Thread 0 is the idle one.
	t.keep(slices.DeleteFunc(slices.Clone(states), func(s analyze.ThreadState) bool { return s.TID <= 0 || s.CPU < 0 || s.CPU >= mostCPUs }))
	for {
		s, more := t.next(complete)
		if !more {
			break
		}
		t.endRuns(s.From + int64(rank(&s))) // one that leaves its CPU when its time ends need not be forgotten
		if later, asked := t.begin(&s); asked {
			t.keep([]analyze.ThreadState{later})
		}
	}
	t.endRuns(complete)
	return t.err
}

// keep keeps states until it is their turn.
func (t *taskStates) keep(states []analyze.ThreadState) {
	if len(states) == 0 {
		return
	}
	slices.SortFunc(states, func(a, b analyze.ThreadState) int { return inOrder(&a, &b) })
	heap.Push(&t.pending, states)
}

// next takes the first state that begins before an instant.
func (t *taskStates) next(before int64) (s analyze.ThreadState, any bool) {
	if len(t.pending) == 0 {
		return s, false
	}
	if s = t.pending[0][0]; s.From >= before {
		return s, false
	}
	if t.pending[0] = t.pending[0][1:]; len(t.pending[0]) == 0 {
		heap.Pop(&t.pending)
	} else {
		heap.Fix(&t.pending, 0)
	}
	return s, true
}

// endRuns ends what is known of threads that were known to run until before an instant.
func (t *taskStates) endRuns(before int64) {
	for len(t.ends) > 0 && t.ends[0].at < before {
		end := heap.Pop(&t.ends).(runEnd)
		if on := t.tasks[end.tid]; on.activity == analyze.ThreadRunning && on.until == end.at {
			t.forget(on, end.at)
		}
	}
}

// begin writes a state. If it can be told only a little later, that is asked for.
func (t *taskStates) begin(s *analyze.ThreadState) (later analyze.ThreadState, asked bool) {
	on := t.tasks[s.TID]
	if on == nil {
		on = &task{changed: math.MinInt64, until: math.MinInt64}
		t.tasks[s.TID] = on
	}
	if s.From < on.until || s.From == on.changed {
		return later, false // two states at a time, of which the first one is drawn
	}
	if on.process != s.ProcessKey || on.thread == nil {
		t.identify(on, s)
	}
	if s.Priority.Valid {
		on.priority = s.Priority
	}
	if s.Activity == analyze.ThreadRunning {
		if !on.priority.Valid { // Perfetto would take one that is missing for the most urgent one
			return later, false
		}
		if other := t.cpus[s.CPU]; other != nil && other.changed == s.From {
			later = *s
			later.From = min(max(s.From, t.later[s.CPU]), math.MaxInt64-1) + 1
			later.Until = max(later.Until, later.From+1)
			t.later[s.CPU] = later.From
			return later, true
		} else if other != nil {
			// The dataset contradicts itself, or its clock is coarse. The other one did not run here any more.
			t.forget(other, s.From)
		}
	}
	if on.activity == analyze.ThreadRunning {
		delete(t.cpus, on.cpu)
		s.CPU = on.cpu // by the CPU Perfetto finds what ends
	}
	on.activity, on.cpu, on.changed, on.until = s.Activity, s.CPU, s.From, s.Until
	t.summary.TaskStates++
	t.write(s.From, s.CPU, on.thread, taskStateOf[s.Activity], on.priority)
	if s.Activity == analyze.ThreadRunning {
		t.cpus[s.CPU] = on
		heap.Push(&t.ends, runEnd{s.Until, s.TID})
	}
	return later, false
}

// identify says whose thread it is. One of another process with the same ID comes after it.
func (t *taskStates) identify(on *task, s *analyze.ThreadState) {
	memory := threadMemory{process: s.ProcessKey}
	of := memory.on(t.drawing, s.TID).process
	on.process, on.priority = s.ProcessKey, trace.Optional[int32]{}
	on.thread = appendVarint(nil, taskTID, uint64(s.TID))
	if of.PID == s.TID && of.Command != "" { // the name of a process is that of its first thread
		on.thread = appendString(on.thread, taskCommand, strings.ToValidUTF8(of.Command, "\uFFFD"))
	}
}

// forget ends what is known of a thread that runs.
func (t *taskStates) forget(on *task, at int64) {
	idle := appendVarint(nil, taskTID, 0)
	t.write(at, on.cpu, idle, taskRunning, trace.Optional[int32]{})
	t.write(at, on.cpu, idle, taskRunnable, trace.Optional[int32]{})
	delete(t.cpus, on.cpu)
	on.activity, on.changed, on.until = "", at, at
}

var taskStateOf = map[analyze.ThreadActivity]uint64{
	analyze.ThreadRunning: taskRunning, analyze.ThreadRunnable: taskRunnable, analyze.ThreadBlocked: taskInterruptibleSleep,
}

func (t *taskStates) write(at int64, cpu int32, thread []byte, state uint64, priority trace.Optional[int32]) {
	b := appendVarint(t.scratch[:0], taskCPU, uint64(cpu))
	b = appendVarint(append(b, thread...), taskState, state)
	if priority.Valid {
		b = appendVarint(b, taskPriority, uint64(priority.Value))
	}
	t.scratch = b
	packet := appendVarint(nil, packetTimestamp, uint64(at))
	t.packet(append(appendBytes(packet, packetTaskState, b), ofSequence...))
}
