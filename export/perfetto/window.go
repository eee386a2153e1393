package perfetto

import (
	"cmp"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// happening is one of the three things that a window has.
type happening struct {
	execution   *analyze.Execution
	publication *analyze.Publication
	poll        *analyze.Poll
}

// window draws what happened in a window, in the order of time.
func (d *drawing) window(a *analyze.TimelineWindow) {
	var group []happening
	for len(a.Executions)+len(a.Publications)+len(a.Polls) > 0 {
		at := int64(math.MaxInt64)
		if len(a.Executions) > 0 {
			at = a.Executions[0].At()
		}
		if len(a.Publications) > 0 {
			at = min(at, a.Publications[0].At)
		}
		if len(a.Polls) > 0 {
			at = min(at, a.Polls[0].At)
		}
		group = group[:0]
		for len(a.Executions) > 0 && a.Executions[0].At() == at {
			group = append(group, happening{execution: a.Executions[0]})
			a.Executions = a.Executions[1:]
		}
		for len(a.Publications) > 0 && a.Publications[0].At == at {
			group = append(group, happening{publication: a.Publications[0]})
			a.Publications = a.Publications[1:]
		}
		for len(a.Polls) > 0 && a.Polls[0].At == at {
			group = append(group, happening{poll: &a.Polls[0]})
			a.Polls = a.Polls[1:]
		}
		if len(group) == 1 {
			d.happened(&group[0], true)
			continue
		}
		d.together(group)
	}
}

// happened draws one thing. Its message comes by a flow if that has begun.
func (d *drawing) happened(h *happening, begun bool) {
	flow := h.flow()
	if !begun {
		flow = 0
	}
	switch {
	case h.execution != nil:
		d.execution(h.execution, flow)
	case h.publication != nil:
		d.publication(h.publication)
	default:
		d.take(h.poll, flow)
	}
}

func (h *happening) flow() analyze.Flow {
	switch {
	case h.execution != nil:
		return h.execution.Flow
	case h.poll != nil:
		return h.poll.Flow
	}
	return 0
}

// rank is the place of something among what happened at the same time on its thread: callbacks before what happens in
// them.
func (h *happening) rank() int64 {
	switch {
	case h.execution != nil:
		return 2 * int64(h.execution.Depth)
	case h.publication != nil:
		return 2*int64(h.publication.Depth) - 1
	}
	return math.MaxInt64
}

func (h *happening) tid() int32 {
	switch {
	case h.execution != nil:
		return h.execution.TID
	case h.publication != nil:
		return h.publication.TID
	}
	return h.poll.TID
}

// together draws what happened at one time by a clock that is too coarse to tell the order: on each thread by the rank,
// and what received a message after its publish.
func (d *drawing) together(group []happening) {
	slices.SortStableFunc(group, func(a, b happening) int { return cmp.Compare(a.rank(), b.rank()) })
	waiting := make(map[uint64]bool) // numbers of the publications that have not been drawn
	for i := range group {
		if p := group[i].publication; p != nil {
			waiting[p.Number] = true
		}
	}
	for len(group) > 0 {
		next := d.next(group, waiting)
		h := group[next]
		d.happened(&h, !waiting[h.flow().Publication()])
		if h.publication != nil {
			delete(waiting, h.publication.Number)
		}
		group = slices.Delete(group, next, next+1)
	}
}

// next finds what can be drawn: the first thing of a thread, whose message was published.
func (d *drawing) next(group []happening, waiting map[uint64]bool) int {
	blocked := make(map[int32]bool)
	for i := range group {
		h := &group[i]
		if !blocked[h.tid()] && !waiting[h.flow().Publication()] {
			return i
		}
		blocked[h.tid()] = true
	}
	return 0
}
