package entities

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

// maxLives bounds the lives remembered for one address. Records are looked up shortly after they happened, so the last
// few do.
const maxLives = 4

// mortal is an entity with a begin and, once it was seen, an end.
type mortal interface {
	begin() int64
	// end is known when the entity was destroyed or its address was given to another one.
	end() (time int64, known bool)
	// doubted is from when on it is not known whether the entity still lives.
	doubted() (time int64, doubtful bool)
	// absent reports whether another one may have lived at the address at that time, although the entity was found
	// there again.
	absent(time int64) bool
}

// life is embedded in every entity.
type life struct {
	since, until int64
	ended        bool
	doubt        int64
	doubtful     bool
	// gap is from the first doubt to the end of the scan that took back the last.
	gapFrom, gapUntil int64
	late              lateRead
	// seen is when the scan began that has found the entity; 0 if none has.
	seen int64
}

func (l *life) begin() int64 { return l.since }

func (l *life) end() (time int64, known bool) { return l.until, l.ended }

func (l *life) doubted() (time int64, doubtful bool) { return l.doubt, l.doubtful }

func (l *life) absent(time int64) bool { return l.gapFrom <= time && time < l.gapUntil }

func (l *life) beginAt(time int64) { l.since = time }

func (l *life) lastSeen() int64 { return l.seen }

func (l *life) finish(time int64) {
	l.until, l.ended, l.doubtful = time, true, false
	l.late.forgetAfter(time)
}

// references is the time at which the handles that the entity's row holds are to be looked up. What an entity refers to
// lives as long as it does, and its address may be another's afterwards.
func (l *life) references() int64 {
	switch {
	case l.since != always:
		return l.since
	case l.ended:
		return l.until
	}
	return now
}

// lives maps an address to the entities that lived there, oldest first.
type lives[E mortal] map[trace.Address][]E

// at returns the entity that lived at the address at that time.
func (l lives[E]) at(address trace.Address, time int64) (E, bool) {
	var none E
	entity, ok := l.latest(address, time)
	if !ok {
		return none, false
	}
	if until, ended := entity.end(); ended && until <= time {
		return none, false
	}
	if doubt, doubtful := entity.doubted(); doubtful && doubt <= time || entity.absent(time) {
		return none, false
	}
	return entity, true
}

// latest returns the entity that began last at the address until that time, dead or alive.
func (l lives[E]) latest(address trace.Address, time int64) (E, bool) {
	for _, entity := range slices.Backward(l[address]) {
		if entity.begin() <= time {
			return entity, true
		}
	}
	var none E
	return none, false
}

// last returns the youngest entity that is known of an address, dead or alive.
func (l lives[E]) last(address trace.Address) (E, bool) {
	entities := l[address]
	if len(entities) == 0 {
		var none E
		return none, false
	}
	return entities[len(entities)-1], true
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

// addLater begins a life at an address, unless that of somebody who began as late is known.
func (l lives[E]) addLater(address trace.Address, entity E) {
	if last, ok := l.last(address); !ok || last.begin() < entity.begin() {
		l.add(address, entity)
	}
}
