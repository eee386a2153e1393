package analyze

import (
	"cmp"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// keptPast is how much is kept of what a thread did, in nanoseconds.
const keptPast = int64(time.Minute)

// threadPast is what a thread has done: the callbacks that it ran, none within another, and when it was off the CPU
// between them.
type threadPast struct {
	ran    []ranCallback // in the order of time, as the next two
	off    []offCPU      // some of them are still to come
	within []offCPU      // in callbacks
	// from is since when all of it is known.
	from trace.Optional[int64]
	// pruned is until when what ended was forgotten.
	pruned int64
}

// ranCallback is an execution. If it is not known what the thread did in it, it is not known of the time around it.
type ranCallback struct {
	callback   *system.Callback
	start, end int64
	known      bool
}

// offCPU is a time off the CPU outside of callbacks. One that was preempted has no waking.
type offCPU struct {
	out, waking, in int64
	kind            trace.SchedKind
	by              *otherThread // had the CPU; nil if it is not known, and of one that blocked
	outCPU, inCPU   int32
	priority        int32
}

func (t *threadPast) add(e *Execution) {
	if !e.Start.Valid || e.Depth > 0 {
		return
	}
	if !e.End.Valid { // it is not known what the thread does from now on
		t.ran = append(t.ran, ranCallback{callback: e.Callback, start: e.Start.Value, end: e.Start.Value})
		t.from = trace.Optional[int64]{}
		return
	}
	t.ran = append(t.ran, ranCallback{e.Callback, e.Start.Value, e.End.Value, e.Parts.Valid})
	if !t.from.Valid && e.Parts.Valid {
		t.from = e.End
	}
}

// prune forgets what ended before an instant.
func (t *threadPast) prune(before int64) {
	t.pruned = before
	t.ran = slices.DeleteFunc(t.ran, func(c ranCallback) bool { return c.end < before })
	ended := func(o offCPU) bool { return o.in < before }
	t.off, t.within = slices.DeleteFunc(t.off, ended), slices.DeleteFunc(t.within, ended)
	if t.from.Valid {
		t.from.Value = max(t.from.Value, before)
	}
}

// between splits the time between two instants, of which the thread was not in a callback at the second one. It is
// false where something is not known.
func (t *threadPast) between(from, until int64) (spent spentTime, known bool) {
	if !t.from.Valid || from < t.from.Value || from > until {
		return spent, false
	}
	parts := &spent.parts
	for _, c := range slices.Backward(t.ran) {
		if c.end <= from {
			break
		}
		if !c.known {
			return spent, false
		}
		time := overlap(c.start, c.end, from, until)
		parts.OtherCallbacks += time
		if time > spent.behind.time {
			spent.behind = ranBehind{c.callback, time}
		}
	}
	for _, o := range slices.Backward(t.off[:begunBefore(t.off, until)]) {
		if o.in <= from {
			break
		}
		if !t.inCallback(o) && !o.addTo(&spent, from, until) {
			return spent, false
		}
	}
	parts.Executor = until - from - parts.OtherCallbacks - parts.PreemptedTime - parts.BlockedTime - parts.WakeupLatency
	return spent, parts.Executor >= 0
}

// inside splits the time between two instants, between which the thread was in one callback. It is false where
// something is not known.
func (t *threadPast) inside(from, until int64) (spent spentTime, known bool) {
	if from < t.pruned {
		return spent, false
	}
	parts := &spent.parts
	for _, off := range [][]offCPU{t.within, t.off} { // the latter if a callback was nested too deep to be named
		for _, o := range slices.Backward(off[:begunBefore(off, until)]) {
			if o.in <= from {
				break
			}
			if !o.addTo(&spent, from, until) {
				return spent, false
			}
		}
	}
	parts.CPUTime = until - from - parts.PreemptedTime - parts.BlockedTime - parts.WakeupLatency
	return spent, parts.CPUTime >= 0
}

// addTo adds what lies between two instants. It is false where it is not known how it was spent.
func (o *offCPU) addTo(spent *spentTime, from, until int64) bool {
	parts := &spent.parts
	if o.kind == trace.SchedPreempted {
		time := overlap(o.out, o.in, from, until)
		parts.PreemptedTime += time
		spent.by.add(o.by, time)
		return true
	}
	if o.waking == noTime {
		return false
	}
	woken := min(max(o.waking, o.out), o.in)
	parts.BlockedTime += overlap(o.out, woken, from, until)
	parts.WakeupLatency += overlap(woken, o.in, from, until)
	return true
}

// begunBefore is how many times off the CPU began before an instant.
func begunBefore(off []offCPU, at int64) int {
	i, _ := slices.BinarySearchFunc(off, at, func(o offCPU, at int64) int { return cmp.Compare(o.out, at) })
	return i
}

// inCallback reports whether a time was within a callback that was nested too deep to be named.
func (t *threadPast) inCallback(o offCPU) bool {
	c, begun := t.lastBegun(o.out)
	return begun && o.in <= c.end
}

// lastBegun is the callback that began last until an instant.
func (t *threadPast) lastBegun(at int64) (c ranCallback, begun bool) {
	after, _ := slices.BinarySearchFunc(t.ran, at+1, func(c ranCallback, at int64) int { return cmp.Compare(c.start, at) })
	if after == 0 {
		return c, false
	}
	return t.ran[after-1], true
}

// ranBehind is a callback and how long it ran.
type ranBehind struct {
	callback *system.Callback
	time     int64
}

// overlap is how long two spans have in common.
func overlap(begin, end, from, until int64) int64 { return max(0, min(end, until)-max(begin, from)) }

// callbackAt is when the outermost callback began in which the thread was at an instant. It is false if it was in none,
// or if it is not known what it did in it.
func (t *threadPast) callbackAt(at int64) (start int64, known bool) {
	c, begun := t.lastBegun(at)
	return c.start, begun && c.known && at <= c.end
}
