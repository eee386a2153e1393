package perfetto

import (
	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// thread is a thread of a process: the slices on its track nest.
type thread struct {
	process *process
	track   uint64
	tid     int32
	open    []openSlice
	// last is when the last event of the thread was that has been drawn.
	last int64
	// overlapping are for callbacks that cannot be nested in those of the thread, as a damaged dataset may have.
	overlapping *lanes
}

// openSlice is a slice whose end has not been written yet.
type openSlice struct {
	depth  int32
	end    trace.Optional[int64]
	status trace.CallbackStatus
	// onNode is the lane of the node that ends with it, if the end is not known.
	onNode *lane
}

// mustEnd is when the slice has ended at last: it is not known of one without an end.
func (s *openSlice) mustEnd() int64 { return openEnd(s.end) }

// fits tells whether an execution nests in what is open, and how much of that is open still when it begins.
func (t *thread) fits(e *analyze.Execution) (left int, fits bool) {
	left = len(t.open)
	begin := e.Start.Value
	for left > 0 && t.open[left-1].isOverAt(begin, e.Depth) {
		left--
	}
	for i := range t.open[:left] {
		// What is as deep has ended, also by a clock that is too coarse to tell.
		if t.open[i].depth >= e.Depth || e.End.Valid && t.open[i].mustEnd() < e.End.Value {
			return left, false
		}
	}
	return left, true
}

// isOverAt tells whether the slice has ended when something of that depth begins.
func (s *openSlice) isOverAt(at int64, depth int32) bool {
	switch {
	case !s.end.Valid:
		return s.depth >= depth
	case s.depth >= depth:
		return s.end.Value <= at
	}
	return s.end.Value < at
}

// closeTo ends the slices above those that are left.
func (t *thread) closeTo(left int, d *drawing) {
	for len(t.open) > left {
		top := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		end := t.last // what is known of it for certain
		if top.end.Valid {
			end = top.end.Value
		}
		for i := range t.open {
			end = min(end, t.open[i].mustEnd())
		}
		t.last = max(t.last, end)
		d.end(t.track, end)
		if top.onNode != nil {
			top.onNode.takeUntil(end)
			d.end(top.onNode.uuid, end)
		}
	}
}

// finish ends what is open when the recording has ended.
func (t *thread) finish(d *drawing) {
	for i := range t.open {
		if s := &t.open[i]; !s.end.Valid && s.status == trace.CallbackRecordingEnd {
			s.end = trace.Some(max(t.last, d.recordingEnd(t.process)))
		}
	}
	t.closeTo(0, d)
}
