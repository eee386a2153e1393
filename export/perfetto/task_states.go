package perfetto

import (
	"cmp"
	"container/heap"
	"math"
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
	pending taskChanges
	tasks   map[int32]*task // by thread ID
	cpus    map[int32]*task // which runs there, as far as is known
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

// taskChange is a state that begins or, if ends is set, one that ends.
type taskChange struct {
	at    int64
	ends  bool
	state analyze.ThreadState
}

// order of changes at one time: threads leave CPUs, then what is known ends, then threads get CPUs.
func (c *taskChange) order() int {
	switch {
	case c.ends:
		return 1
	case c.state.Activity == analyze.ThreadRunning:
		return 2
	}
	return 0
}

// taskChanges is a heap. Of states that begin together the longest comes first: it says most.
type taskChanges []taskChange

func (c taskChanges) Len() int { return len(c) }

func (c taskChanges) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order(), b.order()), cmp.Compare(b.state.Until, a.state.Until), cmp.Compare(a.state.TID, b.state.TID)) < 0
}

func (c taskChanges) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push and Pop are for package heap.
func (c *taskChanges) Push(x any) { *c = append(*c, x.(taskChange)) }

// Pop removes the last.
func (c *taskChanges) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

func newTaskStates(d *drawing) *taskStates {
	return &taskStates{drawing: d, tasks: make(map[int32]*task), cpus: make(map[int32]*task)}
}

// mostCPUs is how many Perfetto can tell apart.
const mostCPUs = 1 << 16

// add adds states, and writes what happens before an instant.
func (t *taskStates) add(states []analyze.ThreadState, complete int64) error {
	for i := range states {
		// Thread 0 is the idle one.
		if s := &states[i]; s.TID > 0 && s.CPU >= 0 && s.CPU < mostCPUs {
			heap.Push(&t.pending, taskChange{at: s.From, state: *s})
		}
	}
	for len(t.pending) > 0 && t.pending[0].at < complete {
		t.change(heap.Pop(&t.pending).(taskChange))
	}
	return t.err
}

func (t *taskStates) change(c taskChange) {
	s := &c.state
	on := t.tasks[s.TID]
	if c.ends {
		if on.activity == analyze.ThreadRunning && on.until == c.at {
			t.forget(on, c.at)
		}
		return
	}
	if on == nil {
		on = &task{changed: math.MinInt64, until: math.MinInt64}
		t.tasks[s.TID] = on
	}
	if s.From < on.until || s.From == on.changed {
		return // two states at a time, of which the first one is drawn
	}
	if on.process != s.ProcessKey || on.thread == nil {
		t.identify(on, s)
	}
	if s.Priority.Valid {
		on.priority = s.Priority
	}
	if s.Activity == analyze.ThreadRunning && !t.occupy(on, s) {
		return
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
		heap.Push(&t.pending, taskChange{at: s.Until, ends: true, state: *s})
	}
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

// occupy makes room on a CPU for a thread that runs. It is false if the thread cannot be drawn to run.
func (t *taskStates) occupy(on *task, s *analyze.ThreadState) bool {
	if !on.priority.Valid { // Perfetto would take one that is missing for the most urgent one
		return false
	}
	other := t.cpus[s.CPU]
	if other == nil {
		return true
	}
	// The dataset contradicts itself, or its clock is coarse. The other one did not run here any more.
	if other.changed == s.From {
		s.From++
		s.Until = max(s.Until, s.From+1)
		heap.Push(&t.pending, taskChange{at: s.From, state: *s})
		return false
	}
	t.forget(other, s.From)
	return true
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
