package analyze

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// place is an address in a process. Several entities may have lived there, one after the other.
type place struct {
	process trace.ProcessKey
	address trace.Address
}

// livesAt finds what lived at an address at a time.
type livesAt[E any] map[place][]resident[E]

type resident[E any] struct {
	life   Life
	entity E
}

// settle bounds the lives whose begin was not seen, when all are there: while another entity lived at the address, none
// of them did.
func (l livesAt[E]) settle() {
	for _, residents := range l {
		if len(residents) < 2 || !slices.ContainsFunc(residents, func(r resident[E]) bool { return !r.life.Init.Valid }) {
			continue
		}
		var ends []int64
		for i := range residents {
			if end := residents[i].life.End; end.Valid {
				ends = append(ends, end.Value)
			}
		}
		slices.Sort(ends)
		for i := range residents {
			life := &residents[i].life
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

func (l livesAt[E]) add(process trace.ProcessKey, address trace.Address, life Life, entity E) {
	if address == 0 {
		return
	}
	at := place{process, address}
	l[at] = append(l[at], resident[E]{life, entity})
}

// find returns the entity whose life contains the time, of several the one that was told of last; the zero value where
// none does.
func (l livesAt[E]) find(process trace.ProcessKey, address trace.Address, at int64) (found E) {
	for _, r := range slices.Backward(l[place{process, address}]) {
		if r.life.Contains(at) {
			return r.entity
		}
	}
	return found
}

// during returns the entity that find returns for every time of the span; ok is false where that depends on the time.
func (l livesAt[E]) during(at place, span trace.Span) (found E, ok bool) {
	for _, r := range slices.Backward(l[at]) {
		switch first, last := r.life.Contains(span.First), r.life.Contains(span.Last); {
		case first && last:
			return r.entity, true
		case r.life.touches(span):
			return found, false
		}
	}
	return found, true
}

// addressesOf returns the addresses, in any process, at which an entity of that kind lived at any time.
func (l livesAt[E]) addressesOf(of func(E) bool) trace.Addresses {
	addresses := make(trace.Addresses)
	for at, residents := range l {
		if slices.ContainsFunc(residents, func(r resident[E]) bool { return of(r.entity) }) {
			addresses[at.address] = true
		}
	}
	return addresses
}

// entityIndex finds entities by what events carry.
type entityIndex struct {
	callbacks     livesAt[*Callback]
	publishers    livesAt[*Publisher]
	subscriptions livesAt[*Subscription]
	buffers       livesAt[*Subscription]
}

func newEntityIndex() *entityIndex {
	return &entityIndex{
		callbacks:     make(livesAt[*Callback]),
		publishers:    make(livesAt[*Publisher]),
		subscriptions: make(livesAt[*Subscription]),
		buffers:       make(livesAt[*Subscription]),
	}
}

func (x *entityIndex) settle() {
	x.callbacks.settle()
	x.publishers.settle()
	x.subscriptions.settle()
	x.buffers.settle()
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
