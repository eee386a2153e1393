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
	v := s.next()
	s.used()
	return v
}

// next returns room for the next value, the same until used is called.
func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabSize)
	}
	return &s.free[0]
}

// used says that the next value is another one.
func (s *slab[T]) used() { s.free = s.free[1:] }
