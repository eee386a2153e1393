package simulation

import "container/heap"

// event is something that happens at a time, in nanoseconds of true time.
type event struct {
	at, number int64
	do         func()
}

// agenda has the events to come. Those of one time happen in the order in which they were added.
type agenda struct {
	now, added int64
	events     []event
}

// after adds an event so many nanoseconds from now.
func (a *agenda) after(delay int64, do func()) { a.at(a.now+delay, do) }

// at adds an event.
func (a *agenda) at(time int64, do func()) {
	a.added++
	heap.Push(a, event{time, a.added, do})
}

// runUntil lets happen what is before a time.
func (a *agenda) runUntil(end int64) {
	for len(a.events) > 0 && a.events[0].at < end {
		e := heap.Pop(a).(event)
		a.now = e.at
		e.do()
	}
	a.now = end
}

// Len, Less, Swap, Push and Pop make a heap of the agenda.
func (a *agenda) Len() int      { return len(a.events) }
func (a *agenda) Swap(i, j int) { a.events[i], a.events[j] = a.events[j], a.events[i] }
func (a *agenda) Push(e any)    { a.events = append(a.events, e.(event)) }

func (a *agenda) Less(i, j int) bool {
	if a.events[i].at != a.events[j].at {
		return a.events[i].at < a.events[j].at
	}
	return a.events[i].number < a.events[j].number
}

func (a *agenda) Pop() any {
	last := a.events[len(a.events)-1]
	a.events = a.events[:len(a.events)-1]
	return last
}
