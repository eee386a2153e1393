package chart

import (
	"cmp"
	"slices"
)

// bounded keeps things in the order of a key, a limited number of them. When there are too many, keys are rounded more
// coarsely, and things whose keys become one are merged.
type bounded[T any] struct {
	limit int
	// round rounds a key down. More coarseness leaves fewer keys, and a key that was rounded is rounded further as the
	// original would be.
	round func(key int64, coarseness uint) int64
	merge func(into *T, more T)

	coarseness uint
	kept       []keyed[T] // in the order of keys, which differ
	waiting    []keyed[T]
}

type keyed[T any] struct {
	key  int64
	what T
}

func (b *bounded[T]) add(key int64, what T) {
	b.waiting = append(b.waiting, keyed[T]{b.round(key, b.coarseness), what})
	if len(b.waiting) >= b.limit {
		b.settle()
	}
}

// all returns what is kept, in the order of keys.
func (b *bounded[T]) all() []keyed[T] {
	b.settle()
	return b.kept
}

func (b *bounded[T]) settle() {
	if len(b.waiting) == 0 {
		return
	}
	b.kept = append(b.kept, b.waiting...)
	b.waiting = b.waiting[:0]
	slices.SortStableFunc(b.kept, func(a, b keyed[T]) int { return cmp.Compare(a.key, b.key) })
	b.join()
	if len(b.kept) <= b.limit {
		return
	}
	// To half of it, so that this is seldom done.
	for len(b.kept) > b.limit/2 {
		b.coarseness++
		for i := range b.kept {
			b.kept[i].key = b.round(b.kept[i].key, b.coarseness)
		}
		b.join()
	}
}

// join merges what has one key.
func (b *bounded[T]) join() {
	joined := b.kept[:0]
	for _, next := range b.kept {
		if last := len(joined) - 1; last >= 0 && joined[last].key == next.key {
			b.merge(&joined[last].what, next.what)
		} else {
			joined = append(joined, next)
		}
	}
	clear(b.kept[len(joined):])
	b.kept = joined
}

// roundTime rounds to multiples of a power of two nanoseconds.
func roundTime(at int64, coarseness uint) int64 { return at >> coarseness << coarseness }
