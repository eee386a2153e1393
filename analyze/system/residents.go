package system

import (
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Residents are the entities that lived at one place, in the order in which they were told of. Nearly always there is
// one. A nil one has none.
type Residents[E any] struct {
	all   []resident[E]
	index *lifeIndex // of many that are arranged
}

// resident is what lived at a place, and when.
type resident[E any] struct {
	life   Life
	entity E
}

// fewResidents are gone through without an index.
const fewResidents = 8

func (r *Residents[E]) add(life Life, entity E) {
	r.all = append(r.all, resident[E]{life, entity})
	r.index = nil
}

func (r *Residents[E]) arrange() {
	if len(r.all) > fewResidents && r.index == nil {
		r.index = newLifeIndex(len(r.all), func(i int) Life { return r.all[i].life })
	}
}

// settle bounds the lives whose begin was not seen, when all are there: while another entity lived at the place, none
// of them did.
func (r *Residents[E]) settle() {
	if len(r.all) < 2 || !slices.ContainsFunc(r.all, func(r resident[E]) bool { return !r.life.Init.Valid }) {
		return
	}
	var ends []int64
	for i := range r.all {
		if end := r.all[i].life.End; end.Valid {
			ends = append(ends, end.Value)
		}
	}
	slices.Sort(ends)
	for i := range r.all {
		life := &r.all[i].life
		before := len(ends)
		if life.End.Valid {
			before, _ = slices.BinarySearch(ends, life.End.Value)
		}
		if !life.Init.Valid && before > 0 {
			life.Init = trace.Some(ends[before-1])
		}
	}
	r.index = nil
}

// Len is how many there are.
func (r *Residents[E]) Len() int {
	if r == nil {
		return 0
	}
	return len(r.all)
}

// Entity returns one of them.
func (r *Residents[E]) Entity(i int) E { return r.all[i].entity }

// At returns which one's life contains the time, of several the one that was told of last; -1 where none does. What
// happened in the very nanosecond of an end, by a coarse clock, was still of the one that ended, unless another one has
// begun.
func (r *Residents[E]) At(at int64) int {
	if r == nil {
		return -1
	}
	if i := r.living(at); i >= 0 || at == math.MinInt64 {
		return i
	}
	return r.living(at - 1)
}

// living is At without what has just ended.
func (r *Residents[E]) living(at int64) int {
	if r.index != nil {
		return r.index.at(at)
	}
	for i := len(r.all) - 1; i >= 0; i-- {
		if r.all[i].life.Contains(at) {
			return i
		}
	}
	return -1
}

// find returns the entity of At; the zero value where there is none.
func (r *Residents[E]) find(at int64) (found E) {
	if i := r.At(at); i >= 0 {
		found = r.all[i].entity
	}
	return found
}

// overlappingAt returns which one's life overlaps the other, of several the one that was told of last; -1 where none
// does.
func (r *Residents[E]) overlappingAt(life Life) int {
	switch {
	case r == nil:
		return -1
	case r.index != nil:
		return r.index.overlapping(life)
	}
	for i := len(r.all) - 1; i >= 0; i-- {
		if r.all[i].life.overlaps(life) {
			return i
		}
	}
	return -1
}

// overlapping returns the entity of overlappingAt; the zero value where there is none.
func (r *Residents[E]) overlapping(life Life) (found E) {
	if i := r.overlappingAt(life); i >= 0 {
		found = r.all[i].entity
	}
	return found
}

// during returns the entity that find returns for every time of the span; ok is false where that depends on the time.
func (r *Residents[E]) during(span trace.Span) (found E, ok bool) {
	if r == nil {
		return found, true
	}
	if i := r.At(span.First); i >= 0 && r.living(span.First) < 0 {
		return r.all[i].entity, span.First == span.Last // it has just ended
	}
	if r.index != nil {
		i, ok := r.index.during(span)
		if ok && i >= 0 {
			found = r.all[i].entity
		}
		return found, ok
	}
	for i := len(r.all) - 1; i >= 0; i-- {
		switch life := &r.all[i].life; {
		case life.Contains(span.First) && life.Contains(span.Last):
			return r.all[i].entity, true
		case life.first() <= span.Last && span.First <= life.last():
			return found, false
		}
	}
	return found, true
}
