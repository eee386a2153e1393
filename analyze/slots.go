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
	// superseded are in the order of until.
	superseded []superseded
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

// superseded is a message in whose slot another one was put. It was overwritten, unless somebody had taken it before
// who is not known yet: the callback for which it was taken may have started later.
type superseded struct {
	enqueued
	index uint64
	until int64 // when the other one was put there
}

// put puts a message into a slot.
func (s *slots) put(index uint64, now enqueued) {
	if former := s.exchange(index, now); former.held {
		s.superseded = append(s.superseded, superseded{former, index, now.at})
	}
}

// exchange sets what a slot holds, and returns what it held.
func (s *slots) exchange(index uint64, now enqueued) (former enqueued) {
	if index >= nearSlots {
		if s.far == nil {
			s.far = make(map[uint64]enqueued)
		}
		former = s.far[index]
		if now.held {
			s.far[index] = now
		} else {
			delete(s.far, index)
		}
		return former
	}
	for uint64(len(s.near)) <= index {
		s.near = append(s.near, enqueued{})
	}
	former, s.near[index] = s.near[index], now
	return former
}

// take empties a slot as of an instant and returns what it held then.
func (s *slots) take(index uint64, at int64) (held enqueued) {
	held = s.exchange(index, enqueued{})
	if held.held && held.at <= at {
		return held
	}
	if held.held {
		s.exchange(index, held) // it came later
	}
	i := slices.IndexFunc(s.superseded, func(e superseded) bool { return e.index == index && e.at <= at && at < e.until })
	if i < 0 {
		return enqueued{}
	}
	held = s.superseded[i].enqueued
	s.superseded = slices.Delete(s.superseded, i, i+1)
	return held
}

// overwritten returns the messages that were superseded before an instant, in the order in which they were, and forgets
// them.
func (s *slots) overwritten(before int64) (lost []enqueued) {
	s.superseded = slices.DeleteFunc(s.superseded, func(e superseded) bool {
		if e.until >= before {
			return false
		}
		lost = append(lost, e.enqueued)
		return true
	})
	return lost
}

// doubt notes that something was taken at an instant from a slot that is not certain.
func (s *slots) doubt(at int64) {
	s.unattributed++
	for i := range s.near {
		s.near[i].doubtful = true
	}
	for index, e := range s.far {
		e.doubtful = true
		s.far[index] = e
	}
	for i := len(s.superseded) - 1; i >= 0 && s.superseded[i].until > at; i-- {
		s.superseded[i].doubtful = true
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
