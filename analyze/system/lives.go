package system

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Place is an address in a process. Several entities may have lived there, one after the other.
type Place struct {
	Process trace.ProcessKey
	Address trace.Address
}

// LivesAt finds what lived at an address at a time.
type LivesAt[E any] map[Place][]Resident[E]

// Resident is what lived at an address, and when.
type Resident[E any] struct {
	Life   Life
	Entity E
}

// settle bounds the lives whose begin was not seen, when all are there: while another entity lived at the address, none
// of them did.
func (l LivesAt[E]) settle() {
	for _, residents := range l {
		if len(residents) < 2 || !slices.ContainsFunc(residents, func(r Resident[E]) bool { return !r.Life.Init.Valid }) {
			continue
		}
		var ends []int64
		for i := range residents {
			if end := residents[i].Life.End; end.Valid {
				ends = append(ends, end.Value)
			}
		}
		slices.Sort(ends)
		for i := range residents {
			life := &residents[i].Life
			before := len(ends)
			if life.End.Valid {
				before, _ = slices.BinarySearch(ends, life.End.Value)
			}
			if !life.Init.Valid && before > 0 {
				life.Init = trace.Some(ends[before-1])
			}
		}
	}
}

// Add tells that an entity lived at an address; nothing lives at address 0.
func (l LivesAt[E]) Add(process trace.ProcessKey, address trace.Address, life Life, entity E) {
	if address == 0 {
		return
	}
	at := Place{process, address}
	l[at] = append(l[at], Resident[E]{life, entity})
}

// Find returns the entity whose life contains the time, of several the one that was told of last; the zero value where
// none does.
func (l LivesAt[E]) Find(process trace.ProcessKey, address trace.Address, at int64) (found E) {
	for _, r := range slices.Backward(l[Place{process, address}]) {
		if r.Life.Contains(at) {
			return r.Entity
		}
	}
	return found
}

// during returns the entity that find returns for every time of the span; ok is false where that depends on the time.
func (l LivesAt[E]) during(at Place, span trace.Span) (found E, ok bool) {
	for _, r := range slices.Backward(l[at]) {
		switch first, last := r.Life.Contains(span.First), r.Life.Contains(span.Last); {
		case first && last:
			return r.Entity, true
		case r.Life.touches(span):
			return found, false
		}
	}
	return found, true
}

// AddressesOf returns the addresses, in any process, at which an entity of that kind lived at any time.
func (l LivesAt[E]) AddressesOf(of func(E) bool) trace.Addresses {
	addresses := make(trace.Addresses)
	for at, residents := range l {
		if slices.ContainsFunc(residents, func(r Resident[E]) bool { return of(r.Entity) }) {
			addresses[at.Address] = true
		}
	}
	return addresses
}

// Index finds entities by what events carry: callbacks by their addresses, publishers and subscriptions by their
// rcl handles, subscriptions also by their intra-process buffers.
type Index struct {
	Callbacks     LivesAt[*Callback]
	Publishers    LivesAt[*Publisher]
	Subscriptions LivesAt[*Subscription]
	Buffers       LivesAt[*Subscription]
}

func newIndex() *Index {
	return &Index{
		Callbacks:     make(LivesAt[*Callback]),
		Publishers:    make(LivesAt[*Publisher]),
		Subscriptions: make(LivesAt[*Subscription]),
		Buffers:       make(LivesAt[*Subscription]),
	}
}

func (x *Index) settle() {
	x.Callbacks.settle()
	x.Publishers.settle()
	x.Subscriptions.settle()
	x.Buffers.settle()
}

// lifeRows collects an entity table's rows: the last one of each life counts. Where the recorder has numbered its
// entities, each row is one. Else a row continues the life at its address that has no end yet, or repeats one that has;
// anything else begins a new life.
type lifeRows[K comparable, R any] struct {
	key  func(*R) K
	life func(*R) Life
	rows []R
	at   map[K][]int // indexes of rows
}

func newLifeRows[K comparable, R any](key func(*R) K, life func(*R) Life) *lifeRows[K, R] {
	return &lifeRows[K, R]{key: key, life: life, at: make(map[K][]int)}
}

func (l *lifeRows[K, R]) add(row *R) {
	key, life := l.key(row), l.life(row)
	if numbered, ok := any(row).(interface{ IsNumbered() bool }); ok && numbered.IsNumbered() {
		l.at[key] = append(l.at[key], len(l.rows))
		l.rows = append(l.rows, *row)
		return
	}
	for _, i := range slices.Backward(l.at[key]) {
		if continues(l.life(&l.rows[i]), life) {
			l.rows[i] = *row
			return
		}
	}
	l.at[key] = append(l.at[key], len(l.rows))
	l.rows = append(l.rows, *row)
}

func (l *lifeRows[K, R]) lives() []Life {
	lives := make([]Life, len(l.rows))
	for i := range l.rows {
		lives[i] = l.life(&l.rows[i])
	}
	return lives
}

// continues tells whether a row is a later one of the life that a former row told of.
func continues(former, row Life) bool {
	if former.Init.Valid && row.Init.Valid {
		return former.Init == row.Init
	}
	if former.End.Valid {
		return former.End == row.End
	}
	return former.overlaps(row)
}
