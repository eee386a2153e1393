package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// nearSlots is the number of slots of a buffer that are held in a list; few buffers are longer.
const nearSlots = 1024

// slots is what an intra-process ring buffer holds, by index. Of the zero slots it is not known what they held before.
type slots struct {
	near []enqueued
	far  map[uint64]enqueued
	// new says that what was never put into a slot is not in it.
	new bool
	// superseded are in the order of until.
	superseded []superseded
	// unattributed are messages that were taken since the last one was put in, from slots that are not certain.
	unattributed int
	puts         uint64
}

// enqueued is a message in a buffer. The zero enqueued is a slot of which nothing is known.
type enqueued struct {
	held      bool
	vacant    bool       // nothing is in the slot
	departure *departure // nil where its publish was not seen
	doubtful  bool       // it may have been received: something was, from a slot that is not certain
	open      bool       // it has been passed on as one of which it is not known whether and when it was received
	at        int64
	tid       int32
	// overwritten says whether it took the place of a message that nobody had taken; null where that is not known.
	overwritten trace.Optional[bool]
	put         uint64 // how many were put in before; 0 for what may have been there before all that is known
}

// superseded is a message in whose slot another one was put. It was overwritten, unless somebody had taken it before
// who is not known yet: the callback for which it was taken may have started later.
type superseded struct {
	enqueued
	index uint64
	until int64 // when the other one was put there
	// by says of the other one whether it overwrote this one; null where that is not known.
	by trace.Optional[bool]
}

// put puts a message into a slot.
func (s *slots) put(index uint64, now enqueued) {
	s.puts++
	now.put = s.puts
	former := s.exchange(index, now)
	if former == (enqueued{}) && !s.new && index < nearSlots {
		former = enqueued{held: true, at: noTime} // perhaps
	}
	if former.held {
		s.superseded = append(s.superseded, superseded{former, index, now.at, now.overwritten})
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

// heldAt returns what a slot may have held at an instant for somebody to take, in the order in which it was put there.
// It is more than one message only if the next one was put there at that very instant.
func (s *slots) heldAt(index uint64, at int64) (held []superseded) {
	first, _ := slices.BinarySearchFunc(s.superseded, at, func(e superseded, at int64) int { return cmp.Compare(e.until, at) })
	for _, e := range s.superseded[first:] {
		if e.index == index && e.at <= at && (e.until > at || !e.by.Value) {
			held = append(held, e)
		}
	}
	now := s.far[index]
	if index < uint64(len(s.near)) {
		now = s.near[index]
	}
	if now.held && now.at <= at {
		held = append(held, superseded{enqueued: now, index: index, until: math.MaxInt64})
	}
	return held
}

// remove takes a message out that a slot may have held.
func (s *slots) remove(e superseded) {
	if e.until == math.MaxInt64 {
		s.exchange(e.index, enqueued{vacant: true})
		return
	}
	i := s.find(e)
	s.superseded = slices.Delete(s.superseded, i, i+1)
}

// open notes that a message which a slot may have held was passed on, and leaves it there.
func (s *slots) open(e superseded) {
	if e.until < math.MaxInt64 {
		s.superseded[s.find(e)].open = true
		return
	}
	now := e.enqueued
	now.open = true
	s.exchange(e.index, now)
}

// find returns which of superseded it is.
func (s *slots) find(e superseded) int {
	return slices.IndexFunc(s.superseded, func(other superseded) bool {
		return other.index == e.index && other.put == e.put && other.until == e.until
	})
}

// overwritten returns the messages that were superseded before an instant, in the order in which they were, and forgets
// them.
func (s *slots) overwritten(before int64) (lost []superseded) {
	s.superseded = slices.DeleteFunc(s.superseded, func(e superseded) bool {
		if e.until >= before {
			return false
		}
		lost = append(lost, e)
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
	for i := len(s.superseded) - 1; i >= 0 && s.superseded[i].until >= at; i-- {
		s.superseded[i].doubtful = true
	}
}

// empty empties all slots and returns what was in them, oldest first.
func (s *slots) empty() (held []enqueued) {
	s.each(func(e enqueued) { held = append(held, e) })
	slices.SortFunc(held, func(a, b enqueued) int { return cmp.Compare(a.at, b.at) })
	clear(s.near)
	clear(s.far)
	s.new = false
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
