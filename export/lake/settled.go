package lake

import (
	"cmp"
	"slices"
)

// maxTied bounds how many rows of one time are held back.
const maxTied = 1 << 16

// settled passes instances on in an order that depends on nothing but them: queries pass those of one time on in any
// order. So files of one recording are the same whenever and by whomever they are made.
type settled[I any] struct {
	at func(*I) int64
	// compare orders instances of one time.
	compare func(a, b *I) int
	held    []I
}

// add returns the instances whose place is certain.
func (s *settled[I]) add(some []I) []I {
	s.held = append(s.held, some...)
	if len(s.held) == 0 {
		return nil
	}
	certain := len(s.held)
	for last := s.at(&s.held[certain-1]); certain > 0 && s.at(&s.held[certain-1]) == last; certain-- {
		if len(s.held)-certain == maxTied {
			certain = len(s.held)
			break
		}
	}
	return s.take(certain)
}

// rest returns those that are left.
func (s *settled[I]) rest() []I { return s.take(len(s.held)) }

func (s *settled[I]) take(count int) []I {
	taken := s.held[:count]
	s.held = slices.Clone(s.held[count:])
	s.sort(taken)
	return taken
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
