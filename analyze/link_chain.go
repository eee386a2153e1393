package analyze

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// chainLink links along a chain of callbacks, each of which leaves something to the next in a variable: each end of a
// callback joins the first start of the next callback at or after it and before its own next end, or every such start;
// what has no such start is lost. The last callback's publishes are the outputs.
type chainLink struct {
	emit         func(linked)
	chain        []*system.Callback
	subscription *system.Subscription
	everyStart   bool // joins an end

	events    []chainEvent // that have not been settled
	waiting   []*chainExecution
	polled    map[execution]*arrival
	last      map[execution]*chainExecution
	order     []execution // of last
	endless   []*chainExecution
	published []*departure
}

type chainEvent struct {
	at        int64
	start     bool // or end
	stage     int
	execution *chainExecution
}

// chainExecution is the execution of a callback of the chain.
type chainExecution struct {
	*arrival
	from  *chainExecution // of the callback before; nil where that had left nothing
	first *chainExecution // of the chain that led to it
	read  bool            // by an execution of the next callback
	stage int             // in the chain
	// Of a first execution: open executions that it led to, with itself, may lead to an output yet. led says that one has.
	// furthest is the last one of the last callback that it led to.
	open     int
	led      bool
	furthest *chainExecution
}

func newChainLink(chain []*system.Callback, s *system.Subscription, everyStart bool, emit func(linked)) *chainLink {
	return &chainLink{
		emit: emit, chain: chain, subscription: s, everyStart: everyStart, waiting: make([]*chainExecution, len(chain)),
		polled: make(map[execution]*arrival), last: make(map[execution]*chainExecution),
	}
}

func (l *chainLink) receive(a *arrival) {
	if a.polled && a.callback == l.chain[0] {
		if former := l.polled[a.execution()]; former != nil { // a later one took its place
			l.emit(former.unused())
		}
		l.polled[a.execution()] = a
	}
}

func (l *chainLink) execute(a *arrival) {
	stage := slices.Index(l.chain, a.callback)
	e := &chainExecution{arrival: a, stage: stage, open: 1}
	e.first, e.furthest = e, e
	l.events = append(l.events, chainEvent{a.start, true, stage, e})
	if a.end != noTime {
		l.events = append(l.events, chainEvent{a.end, false, stage, e})
	}
}

func (l *chainLink) publish(d *departure) { l.published = append(l.published, d) }

func (l *chainLink) settle(limit int64) {
	slices.SortStableFunc(l.events, func(a, b chainEvent) int { return cmp.Or(cmp.Compare(a.at, b.at), compareStarts(a.start, b.start)) })
	done := 0
	for ; done < len(l.events) && l.events[done].at < limit; done++ {
		if e := &l.events[done]; e.start {
			l.startOf(e.stage, e.execution)
		} else {
			l.endOf(e.stage, e.execution)
		}
	}
	l.events = slices.Delete(l.events, 0, done)
	for _, d := range l.published {
		e := l.last[d.execution()]
		if e == nil {
			continue
		}
		of := l.trace(e)
		of.outputStart, of.output = d.start, d
		l.emit(of)
		e.first.led = true
	}
	l.published = l.published[:0]
	kept := l.order[:0]
	for i, in := range l.order {
		if e := l.last[in]; mayPublish(e.end, limit, len(l.order)-1-i) {
			kept = append(kept, in)
		} else {
			l.drop(in, e)
		}
	}
	l.order = kept
}

// compareStarts puts ends first: what ends and what starts at the same time belong together.
func compareStarts(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (l *chainLink) startOf(stage int, e *chainExecution) {
	if stage > 0 {
		if before := l.waiting[stage-1]; before != nil && (l.everyStart || !before.read) {
			before.read = true
			e.from, e.first = before, before.first
			e.first.open++
			if stage >= e.first.furthest.stage {
				e.first.furthest = e
			}
		}
	}
	if stage == len(l.chain)-1 {
		in := e.execution()
		if former := l.last[in]; former != nil { // the recording has it twice
			l.giveUp(former)
		} else {
			l.order = append(l.order, in)
		}
		l.last[in] = e
		return
	}
	if e.end == noTime { // it leaves nothing
		l.endless = append(l.endless, e)
		if len(l.endless) > keptExecutions {
			l.giveUp(l.endless[0])
			l.endless = slices.Delete(l.endless, 0, 1)
		}
	}
}

func (l *chainLink) endOf(stage int, e *chainExecution) {
	if stage == len(l.chain)-1 {
		return
	}
	l.giveUp(l.waiting[stage])
	l.waiting[stage] = e
}

// trace follows the chain back to the first execution that led to one, and to the message that this received, as far as
// it leads.
func (l *chainLink) trace(e *chainExecution) linked {
	of := linked{inputEnd: noTime, outputStart: noTime, again: e.first.led}
	for at := e; at != nil; at = at.from {
		if at.callback != l.chain[0] && at.callback != l.chain[len(l.chain)-1] {
			of.middle = append(of.middle, at.arrival)
		}
	}
	slices.Reverse(of.middle)
	switch first := e.first; {
	case first.callback != l.chain[0]:
		return of
	case first.subscription == l.subscription:
		of.input = first.arrival
	default:
		of.input = l.polled[first.execution()]
	}
	if of.input != nil {
		of.inputEnd = e.first.end
	}
	return of
}

// giveUp notes that an execution leads to nothing more. The input is lost if nothing else that came from it may.
func (l *chainLink) giveUp(e *chainExecution) {
	if e == nil {
		return
	}
	first := e.first
	first.open--
	if first.open > 0 {
		return
	}
	if of := l.trace(first.furthest); of.input != nil && !first.led {
		l.emit(of)
	}
	delete(l.polled, first.execution())
}

func (l *chainLink) drop(in execution, e *chainExecution) {
	l.giveUp(e)
	delete(l.last, in)
}

func (l *chainLink) end() {
	for _, before := range l.waiting {
		l.giveUp(before)
	}
	for _, e := range l.endless {
		l.giveUp(e)
	}
	for _, in := range l.order {
		l.drop(in, l.last[in])
	}
}
