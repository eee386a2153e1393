package entities

// Initialization events are read a moment after they have happened, and so is the memory that completes them. If an
// entity had ended by then, what was read may be of the next one at its address, made of the same piece of memory. Its
// end tells, when that event comes.

// lateRead is embedded in every life.
type lateRead struct {
	at     int64 // when memory was read last
	forget []func()
}

// ReadBy gives the graph the dataset's clock, by which it notes when it reads memory.
func (g *Graph) ReadBy(clock func() int64) { g.clock = clock }

// takeRead fills a field of an entity's row, unless it has a value, with what memory was just found to hold. It is
// taken back if the entity turns out to have ended before.
func takeRead[T comparable](g *Graph, l *life, field *T, value T) {
	var unknown T
	if *field != unknown || value == unknown {
		return
	}
	*field = value
	if g.clock == nil {
		return
	}
	l.late.at = g.clock()
	l.late.forget = append(l.late.forget, func() {
		if *field == value {
			*field = unknown
		}
	})
}

// forgetAfter takes back what was read after an end.
func (r *lateRead) forgetAfter(end int64) {
	if end <= r.at {
		for _, forget := range r.forget {
			forget()
		}
	}
	r.forget = nil
}
