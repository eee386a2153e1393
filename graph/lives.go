package graph

import (
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// always is the begin of the life of an entity that was there before the recording.
	always = math.MinInt64
	// now is the time of what is read from memory: it belongs to whatever lives there last.
	now = math.MaxInt64
)

// maxLives bounds the lives remembered for one address. Records are looked up shortly after they happened, so the last few do.
const maxLives = 4

// mortal is an entity with a begin. Its end is the begin of the next one at the same address.
type mortal interface{ begin() int64 }

// life is embedded in every entity.
type life struct{ since int64 }

func (l *life) begin() int64 { return l.since }

// references is the time at which the handles that the entity's row holds are to be looked up.
func (l *life) references() int64 {
	if l.since == always {
		return now
	}
	return l.since
}

// lives maps an address to the entities that lived there, oldest first.
type lives[E mortal] map[trace.Address][]E

// at returns the entity that lived at the address at that time.
func (l lives[E]) at(address trace.Address, time int64) (E, bool) {
	entities := l[address]
	for i := len(entities) - 1; i >= 0; i-- {
		if entities[i].begin() <= time {
			return entities[i], true
		}
	}
	var none E
	return none, false
}

// has reports whether anything is known to have lived at the address, at any time.
func (l lives[E]) has(address trace.Address) bool { return len(l[address]) > 0 }

// add begins a life at an address. One that begins at the same time is superseded.
func (l lives[E]) add(address trace.Address, entity E) {
	if address == 0 {
		return
	}
	entities := l[address]
	at := len(entities)
	for at > 0 && entities[at-1].begin() > entity.begin() {
		at--
	}
	if at > 0 && entities[at-1].begin() == entity.begin() {
		entities[at-1] = entity
		return
	}
	entities = slices.Insert(entities, at, entity)
	if len(entities) > maxLives {
		entities = slices.Delete(entities, 0, len(entities)-maxLives)
	}
	l[address] = entities
}
