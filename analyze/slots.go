package analyze

// nearSlots is the number of slots of a buffer that are held in a list; few buffers are longer.
const nearSlots = 1024

// slots is what an intra-process ring buffer holds, by index. The zero slots are empty.
type slots struct {
	near []enqueued
	far  map[uint64]enqueued
}

// enqueued is a message in a buffer. The zero enqueued is an empty slot.
type enqueued struct {
	held      bool
	departure *departure // nil where its publish was not seen
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
