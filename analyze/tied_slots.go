package analyze

import (
	"slices"
)

// By a coarse clock a message may be taken out of a slot, and the next one put there, at one instant. Three things tell
// which message was taken:
//   - whether the next one overwrote the former one, which then nobody has taken;
//   - the thread, where the same one did both;
//   - the order of the messages, because enqueues are recorded in their order.
//
// Where they leave several possibilities, the fate of these messages is unknown.

// mostTied bounds the dequeues of a slot at one instant whose possibilities are gone through, mostHeld the enqueues.
const (
	mostTied = 4
	mostHeld = 8
)

// tie is what happened to a slot at an instant, as far as that is not told by the time.
type tie struct {
	held  []superseded // that may have been taken then, in the order in which they were put there
	taken []*arrival
	// found are the possibilities: of each which of held each of taken got.
	found [][]int
}

// solve finds the possibilities.
func (t *tie) solve() {
	if len(t.taken) <= mostTied && len(t.held) <= mostHeld {
		t.extend(nil)
	}
}

// extend goes through what the next of taken may have got.
func (t *tie) extend(got []int) {
	if len(got) == len(t.taken) {
		if t.allTaken(got) {
			t.found = append(t.found, slices.Clone(got))
		}
		return
	}
	for i := range t.held {
		if !slices.Contains(got, i) && t.mayGet(len(got), i, got) {
			t.extend(append(got, i))
		}
	}
}

// allTaken tells whether all that was not overwritten was taken, unless somebody may have taken it before.
func (t *tie) allTaken(got []int) bool {
	for i := range t.held {
		e := &t.held[i]
		mustBe := e.put > 0 && !e.doubtful && !e.open && e.by.Valid && !e.by.Value && e.until == t.at()
		if mustBe && !slices.Contains(got, i) {
			return false
		}
	}
	return true
}

// at is the instant.
func (t *tie) at() int64 { return t.taken[0].take }

// mayGet tells whether a thread's own order does not contradict that a dequeue got a message.
func (t *tie) mayGet(dequeue, message int, got []int) bool {
	a := t.taken[dequeue]
	for i := range t.held {
		e := &t.held[i]
		if e.at != t.at() {
			continue
		}
		switch order := e.compareOnThread(a); {
		case order < 0 && message < i, order > 0 && message >= i:
			return false
		}
	}
	for other, m := range got {
		b := t.taken[other]
		if a.tid == b.tid && a.start != b.start && (a.start < b.start) != (message < m) {
			return false
		}
	}
	return true
}

// compareOnThread tells, of an enqueue and a dequeue at one instant, which came first, if it was one thread that did
// both: it is negative for the enqueue, positive for the dequeue, and 0 where that is not told.
func (e *enqueued) compareOnThread(a *arrival) int {
	switch {
	case e.tid != a.tid || a.polled:
		return 0
	case e.departure != nil && e.departure.callback != nil && e.departure.execution() == a.execution():
		return 1 // the message started the callback that enqueued
	case a.start > e.at:
		return -1 // between a dequeue and the start of its callback the thread does nothing else
	}
	return 0
}

// told returns which of held a dequeue got in all possibilities; -1 where they differ.
func (t *tie) told(dequeue int) int {
	if len(t.found) == 0 {
		return -1
	}
	first := t.found[0][dequeue]
	if slices.ContainsFunc(t.found, func(got []int) bool { return got[dequeue] != first }) {
		return -1
	}
	return first
}

// isOpen tells whether a message was taken in some possibilities only, or by it is not told whom.
func (t *tie) isOpen(message int) bool {
	if len(t.found) == 0 {
		return true
	}
	for dequeue := range t.taken {
		if t.told(dequeue) == message {
			return false
		}
	}
	return slices.ContainsFunc(t.found, func(got []int) bool { return slices.Contains(got, message) })
}

// tiedSlot is where and when a tie is.
type tiedSlot struct {
	buffer *slots
	index  uint64
	at     int64
}

// resolveTies tells what was taken at one instant with an enqueue, when all that was taken before is known.
func (p *passages) resolveTies(arrivals []*arrival) {
	taken := make(map[tiedSlot][]*arrival)
	var ordered []tiedSlot // by the time, as arrivals
	for _, a := range arrivals {
		at := tiedSlot{p.buffers[a.subscription], a.dequeue.Value, a.take}
		if taken[at] == nil {
			ordered = append(ordered, at)
		}
		taken[at] = append(taken[at], a)
	}
	for _, at := range ordered {
		t := tie{held: at.buffer.heldAt(at.index, at.at), taken: taken[at]}
		t.solve()
		for i, e := range t.held {
			if t.isOpen(i) {
				p.emitEnqueued(t.taken[0].subscription, e.enqueued, Unknown, nil)
				at.buffer.open(e)
			}
		}
		for dequeue, a := range t.taken {
			if i := t.told(dequeue); i >= 0 {
				p.receiveEnqueued(at.buffer, t.held[i], a)
			}
		}
	}
}
