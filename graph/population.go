package graph

import "github.com/caret-bpf/caret-bpf/trace"

// resident is an entity that has an address and rows.
type resident interface {
	mortal
	beginAt(time int64)
	// bury ends the entity's life, in its row, too.
	bury(time int64)
	// complete says that nothing more is to be expected for the row.
	complete() bool
	// change notes that the row may have changed. It reports whether that was not known already.
	change() bool
}

// population holds the entities of one kind: who lived where, and whose row may have changed since Rows was called.
type population[E resident] struct {
	lives[E]
	changed []E
	// bury ends an entity together with what does not outlive it.
	bury func(entity E, time int64)
}

func newPopulation[E resident](bury func(entity E, time int64)) population[E] {
	return population[E]{lives: make(lives[E]), bury: bury}
}

// add begins a life at an address and ends the one before.
func (p *population[E]) add(address trace.Address, entity E) {
	if last, ok := p.last(address); ok {
		until, ended := last.end()
		switch {
		case entity.begin() == always && ended:
			entity.beginAt(until) // memory shows what came after it
		case last.begin() < entity.begin() && !ended:
			p.bury(last, entity.begin())
		}
	}
	p.lives.add(address, entity)
}

// note queues an entity whose row may have changed.
func (p *population[E]) note(entity E) {
	if entity.change() {
		p.changed = append(p.changed, entity)
	}
}

// end ends the life of an entity, if it has not ended already.
func (p *population[E]) end(entity E, time int64) {
	if _, ended := entity.end(); ended {
		return
	}
	entity.bury(time)
	p.note(entity)
}
