package view

import (
	"cmp"
	"container/heap"
	"slices"
)

// sample keeps, of many things, those of the least ranks: so many at most, in whatever order they come.
type sample[T any] struct {
	most int
	kept ranking[T]
}

// ranked is a thing with its rank.
type ranked[T any] struct {
	rank  uint64
	thing T
}

// ranking is a heap (container/heap), the greatest rank first.
type ranking[T any] []ranked[T]

func (r ranking[T]) Len() int           { return len(r) }
func (r ranking[T]) Less(i, j int) bool { return r[i].rank > r[j].rank }
func (r ranking[T]) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranking[T]) Push(thing any)    { *r = append(*r, thing.(ranked[T])) }
func (r *ranking[T]) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// add adds a thing. Of equal ranks the first ones stay.
func (s *sample[T]) add(rank uint64, thing T) {
	switch {
	case len(s.kept) < s.most:
		heap.Push(&s.kept, ranked[T]{rank, thing})
	case rank < s.kept[0].rank:
		s.kept[0] = ranked[T]{rank, thing}
		heap.Fix(&s.kept, 0)
	}
}

// first are the things of the least ranks, so many at most, by rank.
func (s *sample[T]) first(most int) (things []T) {
	kept := slices.Clone(s.kept)
	slices.SortFunc(kept, func(a, b ranked[T]) int { return cmp.Compare(a.rank, b.rank) })
	for _, k := range kept[:min(len(kept), most)] {
		things = append(things, k.thing)
	}
	return things
}

// scattered is a rank that has nothing to do with a number but that it is the same each time: a sample by it is one by
// chance (the finalizer of SplitMix64, Steele et al. 2014).
func scattered(number uint64) uint64 {
	number += 0x9e3779b97f4a7c15
	number = (number ^ number>>30) * 0xbf58476d1ce4e5b9
	number = (number ^ number>>27) * 0x94d049bb133111eb
	return number ^ number>>31
}
