package analyze

import (
	"cmp"
	"slices"
)

// recordedLink links by the callback in which each publish was recorded: exact for callbacks that publish what they
// received or polled.
type recordedLink struct {
	emit      func(linked)
	order     []*executionInputs // in the order in which their first inputs came
	byStart   []*executionInputs // the same by their start
	found     int                // where in byStart the last publish's execution was
	published []*departure
	room      slab[executionInputs]
}

type executionInputs struct {
	of      execution
	inputs  []executionInput
	one     [1]executionInput // room for what is nearly always enough
	end     int64
	dropped bool
}

type executionInput struct {
	*arrival
	used bool
}

func (l *recordedLink) receive(a *arrival) {
	in := a.execution()
	if in.callback == nil {
		l.emit(linked{input: a, inputEnd: noTime, outputStart: noTime})
		return
	}
	of := l.execution(in)
	of.inputs = append(of.inputs, executionInput{arrival: a})
	of.end = max(of.end, a.end)
}

func (l *recordedLink) execute(*arrival)     {}
func (l *recordedLink) publish(d *departure) { l.published = append(l.published, d) }

// execution returns the inputs of an execution, a new one's if it has none yet.
func (l *recordedLink) execution(in execution) *executionInputs {
	at := len(l.byStart)
	if at > 0 && l.byStart[at-1].of.start >= in.start { // else it is the newest, as nearly always
		at = l.firstAt(in.start)
		if of := l.startedAt(at, in); of != nil {
			return of
		}
	}
	of := l.room.new()
	of.of, of.end, of.inputs = in, noTime, of.one[:0]
	l.order = append(l.order, of)
	l.byStart = slices.Insert(l.byStart, at, of)
	return of
}

// find returns the inputs of an execution, nil where it has none.
func (l *recordedLink) find(in execution) *executionInputs {
	// Publishes come in about the order of the executions that they are made in.
	if next := l.found + 1; next < len(l.byStart) && l.byStart[next].of == in {
		l.found = next
		return l.byStart[next]
	}
	l.found = l.firstAt(in.start)
	return l.startedAt(l.found, in)
}

// firstAt returns the index of the first execution that started then or later.
func (l *recordedLink) firstAt(start int64) int {
	i, _ := slices.BinarySearchFunc(l.byStart, start, func(of *executionInputs, start int64) int { return cmp.Compare(of.of.start, start) })
	return i
}

// startedAt looks for an execution from the first one on that started when it did; nil where it is not there.
func (l *recordedLink) startedAt(first int, in execution) *executionInputs {
	for _, of := range l.byStart[first:] {
		if of.of.start != in.start {
			break
		}
		if of.of == in {
			return of
		}
	}
	return nil
}

func (l *recordedLink) settle(limit int64) {
	for _, d := range l.published {
		if d.callback == nil {
			continue
		}
		of := l.find(d.execution())
		if of == nil {
			continue
		}
		for i := range slices.Backward(of.inputs) {
			if in := &of.inputs[i]; in.start <= d.at {
				l.emit(linked{input: in.arrival, inputEnd: in.end, outputStart: d.start, output: d, again: in.used})
				in.used = true
				break
			}
		}
	}
	clear(l.published)
	l.published = l.published[:0]
	executions := len(l.order)
	kept := l.order[:0]
	for i, of := range l.order {
		if mayPublish(of.end, limit, executions-1-i) {
			kept = append(kept, of)
		} else {
			l.drop(of)
		}
	}
	clear(l.order[len(kept):])
	l.order = kept
	l.byStart = slices.DeleteFunc(l.byStart, func(of *executionInputs) bool { return of.dropped })
	l.found = -1
}

// drop gives up an execution: what has led to no publish until now does not any more.
func (l *recordedLink) drop(of *executionInputs) {
	for _, in := range of.inputs {
		if !in.used {
			l.emit(in.unused())
		}
	}
	of.dropped = true
}

func (l *recordedLink) end() {
	for _, of := range l.order {
		l.drop(of)
	}
}
