package analyze

import (
	"cmp"
	"slices"
)

// nearSlots is the number of slots of a buffer that are held in a list; few buffers are longer.
const nearSlots = 1024

// slots is what an intra-process ring buffer holds, by index. The zero slots are empty.
type slots struct {
	near []enqueued
	far  map[uint64]enqueued
	// unattributed are messages that were taken since the last one was put in, from slots that are not certain.
	unattributed int
}

// enqueued is a message in a buffer. The zero enqueued is an empty slot.
type enqueued struct {
	held      bool
	departure *departure // nil where its publish was not seen
	doubtful  bool       // it may have been received: something was, from a slot that is not certain
	at        int64
}

// put puts a message into a slot and returns what it overwrites.
func (s *slots) put(index uint64, now enqueued) (former enqueued) {
	if index >= nearSlots {
		if s.far == nil {
			s.far = make(map[uint64]enqueued)
		}
		former, s.far[index] = s.far[index], now
		return former
	}
	for uint64(len(s.near)) <= index {
		s.near = append(s.near, enqueued{})
	}
	former, s.near[index] = s.near[index], now
	return former
}

// take empties a slot and returns what it held.
func (s *slots) take(index uint64) (held enqueued) {
	if index < uint64(len(s.near)) {
		held, s.near[index] = s.near[index], enqueued{}
		return held
	}
	held = s.far[index]
	delete(s.far, index)
	return held
}

// doubt notes that something was taken from a slot that is not certain.
func (s *slots) doubt() {
	s.unattributed++
	for i := range s.near {
		s.near[i].doubtful = true
	}
	for index, e := range s.far {
		e.doubtful = true
		s.far[index] = e
	}
}

// empty empties all slots and returns what was in them, oldest first.
func (s *slots) empty() (held []enqueued) {
	s.each(func(e enqueued) { held = append(held, e) })
	slices.SortFunc(held, func(a, b enqueued) int { return cmp.Compare(a.at, b.at) })
	clear(s.near)
	clear(s.far)
	return held
}

// each passes on what is in the slots.
func (s *slots) each(tell func(enqueued)) {
	for _, e := range s.near {
		if e.held {
			tell(e)
		}
	}
	for _, e := range s.far {
		tell(e)
	}
}
