package entities

import "github.com/caret-bpf/caret-bpf/trace"

// resident is an entity that has an address and rows.
type resident interface {
	mortal
	beginAt(time int64)
	doubtFrom(time int64)
	confirm(time int64)
	// lastSeen is when the scan began that has found the entity, 0 if none has.
	lastSeen() int64
	// replace makes the entity the one that is known as another one: that is told no more, nor is its end.
	replace(former telling, time int64)
	telling
	// bury ends the entity's life, in its row, too.
	bury(time int64)
	// complete says that nothing more is to be expected for the row.
	complete() bool
	// change notes that the row may have changed. It reports whether that was not known already.
	change() bool
}

// telling is what an entity has told of itself.
type telling interface {
	// withdraw keeps the entity from telling more. It returns the number of its rows, 0 if there are none.
	withdraw() uint64
	// finish ends the entity's life without a word.
	finish(time int64)
}

// population holds the entities of one kind: who lived where, and whose row may have changed since Rows was called.
type population[E resident] struct {
	lives[E]
	changed []E
	// bury ends an entity together with what does not outlive it.
	bury func(entity E, time int64)
	// lostFrom and lostUntil are when events of such entities were lost last.
	lostFrom, lostUntil int64
}

func newPopulation[E resident](bury func(entity E, time int64)) population[E] {
	return population[E]{lives: make(lives[E]), bury: bury}
}

// add begins a life at an address and ends the one before. If a scan that began later has found who lives there, both
// are one: the scan has overtaken the event.
func (p *population[E]) add(address trace.Address, entity E) {
	if last, ok := p.last(address); ok {
		until, ended := last.end()
		switch {
		case entity.begin() == always && ended:
			entity.beginAt(until) // memory shows what came after it
		case !ended && last.lastSeen() != 0 && last.lastSeen() <= entity.begin() && entity.begin() < last.begin():
			last.beginAt(entity.begin()) // the scan has seen it, and could not tell since when it lived
			entity.replace(last, entity.begin())
		case last.begin() < entity.begin() && !ended && last.lastSeen() > entity.begin():
			entity.replace(last, entity.begin())
		case last.begin() < entity.begin() && !ended:
			p.bury(last, endOf(last, entity.begin()))
		}
	}
	p.lives.add(address, entity)
	p.doubtKnownLate(entity)
}

// doubtKnownLate doubts an entity that has become known after events were lost that may have ended it. What was read
// from memory was read after them.
func (p *population[E]) doubtKnownLate(entity E) {
	known := entity.begin()
	if known == always {
		if known = entity.lastSeen(); known == 0 {
			return
		}
	}
	if p.lostUntil != 0 && known <= p.lostUntil {
		entity.doubtFrom(max(known+1, p.lostFrom))
	}
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
