package groundtruth

import (
	"errors"
	"fmt"
)

// ErrInconsistent is wrapped by what Validate finds.
var ErrInconsistent = errors.New("inconsistent ground truth")

// execution identifies one execution of a callback.
type execution struct {
	tid      int
	callback uint64
	start    uint64
}

// Validate checks that the records agree with each other: layers and nested callbacks lie within what
// encloses them, publishes are numbered without gaps, and references lead to something. It returns all
// contradictions, joined.
func (t *Truth) Validate() error {
	v := validator{executions: make(map[execution]*Callback, len(t.Callbacks))}
	for i := range t.Callbacks {
		callback := &t.Callbacks[i]
		v.executions[execution{callback.TID, callback.Callback, callback.Start.Before}] = callback
	}
	for i := range t.Callbacks {
		v.callback(&t.Callbacks[i])
	}
	publishes := make(map[int]map[uint64]*Publish)
	for i := range t.Publishes {
		publish := &t.Publishes[i]
		v.publish(publish)
		if publishes[publish.TID] == nil {
			publishes[publish.TID] = make(map[uint64]*Publish)
		}
		publishes[publish.TID][publish.Number] = publish
	}
	for tid, numbers := range publishes {
		for number := range uint64(len(numbers)) {
			v.check(numbers[number] != nil, "thread %d has no publish %d", tid, number)
		}
	}
	for _, take := range t.Takes {
		v.inside(take.TID, take.Callback, take.CallbackStart, take.Bracket)
	}
	v.serviceSteps(t)
	v.executors(t)
	v.lifetimes(t)
	intra := make(map[*Publish]Bracket)
	for _, half := range t.IntraPublishes {
		publish := publishes[half.TID][half.PublishNumber]
		v.check(publish != nil && half.Bracket.Happened() && publish.Publisher == half.Publisher,
			"%+v is half of no publish", half)
		intra[publish] = half.Bracket
	}
	for _, raw := range t.RawPublishes {
		publish := publishes[raw.TID][raw.PublishNumber]
		holds := func(layer Bracket) bool {
			return !layer.Happened() || raw.Bracket.Before <= layer.Before && layer.After <= raw.Bracket.After
		}
		v.check(publish != nil && publish.Publisher == raw.Publisher && holds(publish.RCL) && holds(publish.Stamp),
			"%+v is no part of %+v", raw, publish)
	}
	enqueues := make(map[*Publish]uint64)
	for _, enqueue := range t.Enqueues {
		publish := publishes[enqueue.TID][enqueue.PublishNumber]
		v.check(publish != nil, "enqueue %+v has no publish", enqueue)
		v.check(intra[publish].Before <= enqueue.Bracket.Before && enqueue.Bracket.After <= intra[publish].After,
			"enqueue %+v is not within the intra-process publish %+v", enqueue, intra[publish])
		enqueues[publish]++
	}
	for i := range t.Publishes {
		publish := &t.Publishes[i]
		v.check(enqueues[publish] == publish.Enqueues, "publish %+v had %d enqueues", *publish,
			enqueues[publish])
	}
	return errors.Join(v.errors...)
}

type validator struct {
	executions map[execution]*Callback
	errors     []error
}

func (v *validator) check(holds bool, format string, arguments ...any) {
	if !holds {
		v.errors = append(v.errors, fmt.Errorf("%w: %s", ErrInconsistent, fmt.Sprintf(format, arguments...)))
	}
}

// inside checks that a bracket lies within an execution, if one is named.
func (v *validator) inside(tid int, callback, start uint64, inner Bracket) {
	if callback == 0 {
		return
	}
	outer := v.executions[execution{tid, callback, start}]
	if outer == nil {
		v.check(false, "thread %d: no callback %#x at %d", tid, callback, start)
		return
	}
	v.check(outer.Start.After <= inner.Before && inner.After <= outer.Left,
		"%+v is not within %+v", inner, *outer)
}

func (v *validator) callback(c *Callback) {
	v.check(c.Start.Happened() && c.Start.Before <= c.Start.After, "callback %+v: start", *c)
	v.check(c.End.Happened() == (c.Outcome == OutcomeReturned), "callback %+v: outcome", *c)
	if c.End.Happened() {
		v.check(c.Start.After <= c.End.Before && c.End.Before <= c.End.After && c.End.After <= c.Left,
			"callback %+v: end", *c)
	}
	v.check((c.Depth == 0) == (c.Parent == 0), "callback %+v: parent", *c)
	v.check(c.Take.Happened() == (c.Kind == KindSubscription), "callback %+v: take", *c)
	v.check(c.Dequeue.Happened() == (c.Kind == KindIntraSubscription), "callback %+v: dequeue", *c)
	v.check(c.Take.After <= c.Start.Before && c.Dequeue.After <= c.Start.Before,
		"callback %+v: fed too late", *c)
	v.inside(c.TID, c.Parent, c.ParentStart, Bracket{Before: c.Start.Before, After: c.Left})
}

func (v *validator) publish(p *Publish) {
	var last uint64
	for _, layer := range []Bracket{p.Intra, p.RCLCPP, p.RCL, p.RMW, p.Stamp} {
		if layer.Happened() {
			v.check(last <= layer.Before && layer.Before <= layer.After, "publish %+v: order", *p)
			v.inside(p.TID, p.Callback, p.CallbackStart, layer)
			last = layer.After
		}
	}
	v.check((p.Depth == 0) == (p.Callback == 0), "publish %+v: enclosing callback", *p)
	v.check(!p.Stamp.Happened() || p.SourceTimestamp != 0, "publish %+v: no stamp", *p)
}
