package perfettotest

import (
	"cmp"
	"fmt"
	"slices"
)

// TaskState is a time of one thread. State is that of the message, and StateUnknown if Perfetto shows an unknown one.
// A state that nothing has ended lasts forever: its Until is 0.
type TaskState struct {
	TID         int64
	State       uint64
	From, Until int64
	// CPU is of one that runs.
	CPU     int64
	Command string
}

// The states, as messages have them.
const (
	StateUnknown  = 0
	StateRunnable = 2
	StateRunning  = 3
	StateSleeping = 4
)

// TaskOnCPU is a time that a thread had a CPU. Its Until is 0 if nothing has ended it.
type TaskOnCPU struct {
	TID, CPU, Priority int64
	From, Until        int64
}

// taskEvent is a message that a thread is in a state.
type taskEvent struct {
	at, cpu, tid, priority int64
	state                  uint64
	command                string
}

func (t *Trace) task(at int64, message []byte) error {
	all, err := fields(message)
	if err != nil {
		return err
	}
	e := &taskEvent{at: at}
	for _, f := range all {
		switch f.number {
		case 1:
			e.cpu = int64(f.value)
		case 2:
			e.command = string(f.bytes)
		case 3:
			e.tid = int64(f.value)
		case 4:
			e.state = f.value
		case 5:
			e.priority = int64(int32(f.value))
		default:
			return fmt.Errorf("field %d in a state", f.number)
		}
	}
	t.states = append(t.states, e)
	return nil
}

// tasks is what is known at an instant.
type tasks struct {
	threads map[int64]*TaskState
	cpus    map[int64]*TaskOnCPU
}

// playTasks goes through the states as trace_processor does (generic_kernel_parser.cc). It fails for what that counts
// as an error, for a CPU that has gone on to another thread than the idle one while its thread was known to run, and
// for one that is said to be idle.
func (t *Trace) playTasks() error {
	slices.SortStableFunc(t.states, func(a, b *taskEvent) int { return cmp.Compare(a.at, b.at) })
	now := tasks{make(map[int64]*TaskState), make(map[int64]*TaskOnCPU)}
	for _, e := range t.states {
		if e.cpu < 0 || e.cpu >= 1<<16 || e.tid < 0 {
			return fmt.Errorf("at %d thread %d is on CPU %d", e.at, e.tid, e.cpu)
		}
		if err := t.playTask(&now, e); err != nil {
			return fmt.Errorf("at %d thread %d: %w", e.at, e.tid, err)
		}
	}
	for _, c := range t.CPUs {
		if c.TID == 0 && c.Until != c.From {
			return fmt.Errorf("CPU %d is said to be idle from %d until %d", c.CPU, c.From, c.Until)
		}
	}
	return nil
}

func (t *Trace) playTask(now *tasks, e *taskEvent) error {
	before, on := now.threads[e.tid], now.cpus[e.cpu]
	switch e.state {
	case StateRunning:
		if before != nil && before.State == StateRunning {
			return fmt.Errorf("it runs twice, on CPU %d and %d", before.CPU, e.cpu)
		}
		if on != nil {
			if e.tid != 0 && on.TID != 0 {
				return fmt.Errorf("CPU %d has thread %d", e.cpu, on.TID)
			}
			on.Until = e.at
			if err := t.enter(now, on.TID, StateUnknown, e); err != nil {
				return err
			}
		}
		now.cpus[e.cpu] = &TaskOnCPU{TID: e.tid, CPU: e.cpu, Priority: e.priority, From: e.at}
		t.CPUs = append(t.CPUs, now.cpus[e.cpu])
	case StateRunnable, StateSleeping:
		if on != nil && on.TID == e.tid {
			on.Until = e.at
			delete(now.cpus, e.cpu)
		} else if before != nil && before.State == StateRunning {
			return fmt.Errorf("it leaves CPU %d, but runs on %d", e.cpu, before.CPU)
		}
	default:
		return fmt.Errorf("state %d", e.state)
	}
	return t.enter(now, e.tid, e.state, e)
}

// enter puts a thread in a state. Perfetto keeps none of the idle thread.
func (t *Trace) enter(now *tasks, tid int64, state uint64, e *taskEvent) error {
	if tid == 0 {
		return nil
	}
	if before := now.threads[tid]; before != nil {
		if before.From == e.at {
			return fmt.Errorf("thread %d has two states at a time", tid)
		}
		before.Until = e.at
	}
	s := &TaskState{TID: tid, State: state, From: e.at}
	if tid == e.tid {
		s.Command = e.command
		if state == StateRunning {
			s.CPU = e.cpu
		}
	}
	now.threads[tid] = s
	t.Tasks = append(t.Tasks, s)
	return nil
}

// CheckTasks fails if something is said of a thread after its last event, or if the times of CPUs are not those of
// threads that run. That no thread is in two states at a time, or on two CPUs, and no CPU has two threads is required
// of every trace.
func (t *Trace) CheckTasks() error {
	type run struct{ tid, cpu, from, until int64 }
	runs := make(map[run]bool)
	for _, s := range t.Tasks {
		if s.Until == 0 && s.State != StateUnknown {
			return fmt.Errorf("thread %d is in state %d forever from %d", s.TID, s.State, s.From)
		}
		if s.State == StateRunning {
			runs[run{s.TID, s.CPU, s.From, s.Until}] = true
		}
	}
	for _, c := range t.CPUs {
		of := run{c.TID, c.CPU, c.From, c.Until}
		if c.TID != 0 && !runs[of] {
			return fmt.Errorf("thread %d has CPU %d from %d until %d, and does not run", c.TID, c.CPU, c.From, c.Until)
		}
		delete(runs, of)
	}
	if len(runs) > 0 {
		return fmt.Errorf("%d times threads run without a CPU", len(runs))
	}
	return nil
}
