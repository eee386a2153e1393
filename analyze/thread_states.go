package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ThreadActivity is what a thread does for a time, as the kernel's scheduler sees it.
type ThreadActivity string

const (
	// ThreadRunning: it was on a CPU.
	ThreadRunning ThreadActivity = "running"
	// ThreadRunnable: it could run, and had no CPU.
	ThreadRunnable ThreadActivity = "runnable"
	// ThreadBlocked: it waited for something.
	ThreadBlocked ThreadActivity = "blocked"
)

// ThreadState is what a thread did from one instant until another.
type ThreadState struct {
	trace.ProcessKey
	TID         int32
	Activity    ThreadActivity
	From, Until int64
	// CPU is that of one that runs. Of others it is that which they left.
	CPU int32
	// Priority is the kernel's, as in trace.Sched. It is null where only the callback tells of the time.
	Priority trace.Optional[int32]
}

// ThreadStates passes on what threads did, wherever that is known: each time off the CPU, the instant at which the
// thread was back, of one nanosecond, and what lies between in callbacks whose times off the CPU add up to their parts
// and that took a minute at most. The last are longer than the instants with which they begin; those instants are
// passed on, too. Of a time in which records were lost it is not known that a thread ran. Of callbacks that overlap on
// a thread the one that begins first tells of it, if that is known. None runs that comes later and begins before the
// instant that is passed on with each batch, whose memory is used again. They belong to no node and no topic: where
// those are asked for there is none.
func (q *Query) ThreadStates(ctx context.Context, each func(states []ThreadState, complete int64) error) error {
	if q.filter.isOfNames() {
		return nil
	}
	pasts, err := q.newThreadPasts(ctx)
	if err != nil {
		return err
	}
	defer pasts.off.close()
	r := &threadStates{query: q, pasts: pasts, each: each, read: math.MinInt64, complete: math.MinInt64, told: make(map[threadOf]int64)}
	err = q.Timeline(ctx, func(w *TimelineWindow) error {
		for _, e := range w.Executions {
			until := e.At()
			known := r.mayRun(e)
			if known {
				until = e.End.Value
			}
			if err := r.readUntil(e.At(), until); err != nil {
				return err
			}
			if known {
				r.execution(e)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return cmp.Or(r.readUntil(math.MaxInt64, math.MaxInt64-lateRows), r.pass(math.MaxInt64))
}

// threadStates gathers what ThreadStates passes on.
type threadStates struct {
	query  *Query
	pasts  *threadPasts
	each   func([]ThreadState, int64) error
	states []ThreadState
	// read is until when times off the CPU were read, complete the instant that was passed on last.
	read, complete int64
	// told is until when callbacks have told what a thread did.
	told map[threadOf]int64
}

// statesAtOnce is how many states are passed on at a time, about.
const statesAtOnce = 1 << 14

// readUntil reads the times off the CPU that ended until an instant. No execution that comes now began before at: what
// is complete by then is passed on meanwhile, so that little is in memory where callbacks are seldom.
func (r *threadStates) readUntil(at, until int64) error {
	off := r.pasts.off
	for {
		if len(r.states) >= statesAtOnce {
			if err := r.pass(min(at, r.read)); err != nil {
				return err
			}
		}
		next, more := off.nextEnd()
		if !more || next > until+lateRows {
			r.read = max(r.read, until)
			return off.err
		}
		r.read = max(r.read, min(next, math.MaxInt64-lateRows))
		off.readUntil(r.read, func(row *timeOffCPU) {
			r.offCPU(row)
			r.pasts.add(row)
		})
	}
}

func (r *threadStates) pass(complete int64) error {
	r.complete = max(r.complete, complete)
	err := r.each(r.states, r.complete)
	r.states = r.states[:0]
	for _, past := range r.pasts.threads {
		past.prune(r.complete)
	}
	return err
}

// add adds a state of some length.
func (r *threadStates) add(s *ThreadState) {
	if s.From < s.Until {
		r.states = append(r.states, *s)
	}
}

// offCPU tells a time off the CPU, and that the thread was back on one. A row that comes too late, as a damaged dataset
// may have it, is left out.
func (r *threadStates) offCPU(row *timeOffCPU) {
	if f := &r.query.filter; row.out >= row.in || row.in < r.complete || !f.process(row.thread.process.PID) || !f.covers(row.out) {
		return
	}
	s := ThreadState{ProcessKey: row.thread.process, TID: row.thread.tid, CPU: row.outCPU, Priority: trace.Some(row.priority)}
	woken := row.out
	if row.kind == trace.SchedBlocked {
		woken = row.in
		if row.waking != noTime {
			woken = min(max(row.waking, row.out), row.in)
		}
	}
	s.Activity, s.From, s.Until = ThreadBlocked, row.out, woken
	r.add(&s)
	s.Activity, s.From, s.Until = ThreadRunnable, woken, row.in
	r.add(&s)
	s.Activity, s.From, s.Until, s.CPU = ThreadRunning, row.in, row.in+1, row.inCPU
	r.add(&s)
}

// mayRun reports whether it may be known when the thread of a callback ran.
func (r *threadStates) mayRun(e *Execution) bool {
	return e.Status == trace.CallbackComplete && e.Start.Valid && e.End.Valid && e.Parts.Valid &&
		e.Start.Value <= e.End.Value && e.End.Value-e.Start.Value <= keptPast && !r.pasts.isLost(e.Start.Value, e.End.Value)
}

// execution tells when the thread of a callback ran, if that is known.
func (r *threadStates) execution(e *Execution) {
	thread := threadOf{e.Callback.Node.Process, e.TID}
	if until, any := r.told[thread]; any && e.Start.Value < until {
		return
	}
	s := ThreadState{ProcessKey: thread.process, TID: thread.tid, Activity: ThreadRunning, From: e.Start.Value, CPU: e.CPU}
	times, known := r.pasts.of(thread).timesIn(e)
	if !known {
		return
	}
	r.told[thread] = e.End.Value
	for _, o := range times {
		s.Until = o.out
		r.add(&s)
		s.From, s.CPU, s.Priority = o.in, o.inCPU, trace.Some(o.priority)
	}
	s.Until = e.End.Value
	r.add(&s)
}

// timesIn are the times off the CPU within a complete execution, in the order of time. They are not known if they do
// not add up to its parts, overlap, or lead from other CPUs than the thread was on: then some are missing.
func (t *threadPast) timesIn(e *Execution) (times []offCPU, known bool) {
	from, until := e.Start.Value, e.End.Value
	if from < t.pruned {
		return nil, false
	}
	for _, off := range [][]offCPU{t.within, t.off} { // the latter if a callback was nested too deep to be named
		for _, o := range slices.Backward(off[:begunBefore(off, until)]) {
			if o.in <= from {
				break
			}
			times = append(times, o)
		}
	}
	slices.SortFunc(times, func(a, b offCPU) int { return cmp.Compare(a.out, b.out) })
	var spent spentTime
	at, cpu := from, e.CPU
	for i := range times {
		o := &times[i]
		if o.out < at || o.in < o.out || o.in > until || o.outCPU != cpu || !o.addTo(&spent, from, until) {
			return nil, false
		}
		at, cpu = o.in, o.inCPU
	}
	if e.EndCPU.Valid && e.EndCPU.Value != cpu {
		return nil, false
	}
	spent.parts.CPUTime = until - from - spent.parts.PreemptedTime - spent.parts.BlockedTime - spent.parts.WakeupLatency
	off := &spent.parts
	return times, Parts{CPUTime: off.CPUTime, PreemptedTime: off.PreemptedTime, BlockedTime: off.BlockedTime, WakeupLatency: off.WakeupLatency} == e.Parts.Value
}
