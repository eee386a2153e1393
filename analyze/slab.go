package analyze

// slabSize is the number of values that a slab makes at once.
const slabSize = 64

// slab makes values of a type many at a time, which is cheaper. It suits values that go out of use at about the same
// time, because one keeps its neighbours in memory: not those that lead to earlier ones of a slab, for so one would
// keep all before it. The zero slab is ready.
type slab[T any] struct {
	free []T
}

// new returns a zero value.
func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabSize)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
