package lake

import (
	"cmp"
	"slices"
)

// maxTied is about how many rows of one time are held back at most.
const maxTied = 1 << 16

// settled passes instances on in an order that depends on nothing but them: queries pass those of one time on in any
// order. So files of one recording are the same whenever and by whomever they are made.
type settled[I any] struct {
	at func(*I) int64
	// compare orders instances of one time.
	compare func(a, b *I) int
	held    []I
}

// add passes on the instances whose place is certain. It puts some in order where they lie, and keeps none of them
// there.
func (s *settled[I]) add(some []I, pass func([]I) error) error {
	if len(s.held) > 0 {
		// Those that belong to the held ones are few, unless some come late.
		tied := 0
		for last := s.at(&s.held[len(s.held)-1]); tied < len(some) && s.at(&some[tied]) <= last; tied++ {
		}
		s.held, some = append(s.held, some[:tied]...), some[tied:]
		if len(some) == 0 && len(s.held) < maxTied {
			return nil
		}
		if err := s.rest(pass); err != nil {
			return err
		}
	}
	certain := len(some)
	for certain > 0 && s.at(&some[certain-1]) == s.at(&some[len(some)-1]) {
		certain--
	}
	s.held = append(s.held, some[certain:]...)
	s.sort(some[:certain])
	return pass(some[:certain])
}

// rest passes on those that are left.
func (s *settled[I]) rest(pass func([]I) error) error {
	s.sort(s.held)
	err := pass(s.held)
	clear(s.held)
	s.held = s.held[:0]
	return err
}

// sort looks for what is not in order, because nearly all is.
func (s *settled[I]) sort(taken []I) {
	first := 0 // of those of one time
	for i := 1; i <= len(taken); i++ {
		if i < len(taken) {
			switch cmp.Compare(s.at(&taken[i-1]), s.at(&taken[i])) {
			case 0:
				continue
			case 1:
				slices.SortStableFunc(taken, func(a, b I) int { return cmp.Or(cmp.Compare(s.at(&a), s.at(&b)), s.compare(&a, &b)) })
				return
			}
		}
		if i-first > 1 {
			slices.SortStableFunc(taken[first:i], func(a, b I) int { return s.compare(&a, &b) })
		}
		first = i
	}
}

// ordered makes rows of instances, in the order of settled, and has them written.
type ordered[I, T any] struct {
	order settled[I]
	to    *output[T]
	set   func(row *T, of *I)
}

func orderedTo[I, T any](o *outputs, table string, at func(*I) int64, compare func(a, b *I) int, set func(row *T, of *I)) *ordered[I, T] {
	return &ordered[I, T]{order: settled[I]{at: at, compare: compare}, to: outputTo[T](o, table), set: set}
}

func (o *ordered[I, T]) add(some []I) error { return o.order.add(some, o.write) }

// rest has the rows written that are left.
func (o *ordered[I, T]) rest() error { return o.order.rest(o.write) }

func (o *ordered[I, T]) write(some []I) error {
	rows := o.to.room(len(some))
	for i := range some {
		o.set(&rows[i], &some[i])
	}
	return o.to.write(rows)
}
