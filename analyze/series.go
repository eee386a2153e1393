package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

const (
	// maxBatch is the most instances that are handed over at once.
	maxBatch = 1 << 14
	// heldInstances is how many instances are held back between windows, to be put in order.
	heldInstances = 1 << 16
	// mostInstances bounds the instances in memory: of one execution there can be as many as somebody asks for.
	mostInstances = 2 * heldInstances
)

// series collects the instances behind an answer for who asked for them, and hands them over batch by batch in the
// order of their time.
//
// They come window by window, in any order within one. An instance may belong to a time long ago: a message was on its
// way since then. So many are held back, and the earliest of them are handed over. The few that come too late all the
// same are counted.
type series[I any] struct {
	each func([]I) error // nil if nobody asked
	// at is the time of an instance; nil: they are handed over as they come.
	at     func(*I) int64
	held   []I
	handed int64  // the time of the latest one that was handed over
	late   uint64 // how many were handed over after later ones
	err    error  // of each; nothing is handed over any more
}

func newSeries[I any](each func([]I) error, at func(*I) int64) series[I] {
	return series[I]{each: each, at: at, handed: noTime}
}

func (s *series[I]) wanted() bool { return s.each != nil && s.err == nil }

func (s *series[I]) add(instance I) {
	if !s.wanted() {
		return
	}
	s.held = append(s.held, instance)
	switch {
	case s.at == nil && len(s.held) == maxBatch:
		s.hand(len(s.held))
	case len(s.held) == mostInstances:
		s.hand(mostInstances - heldInstances/2)
	}
}

// flush is called between windows. It returns the first error of handing over.
func (s *series[I]) flush() error {
	switch {
	case s.at == nil:
		s.hand(len(s.held))
	case len(s.held) > heldInstances:
		s.hand(len(s.held) - heldInstances/2)
	}
	return s.err
}

// end hands over what is left. It warns of instances that are not in order.
func (s *series[I]) end(q *Query) error {
	s.hand(len(s.held))
	if s.late > 0 && s.err == nil {
		q.Warnings = append(q.Warnings, fmt.Sprintf("%d rows come after rows of a later time: what became of them was known only long after", s.late))
	}
	return s.err
}

// hand hands over that many, the earliest.
func (s *series[I]) hand(count int) {
	if !s.wanted() || count == 0 {
		return
	}
	if s.at == nil {
		s.err = s.each(s.held)
		s.held = s.held[:0]
		return
	}
	order := make([]place, len(s.held))
	for i := range s.held {
		order[i] = place{s.at(&s.held[i]), i}
	}
	slices.SortFunc(order, func(a, b place) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.index, b.index)) })
	for due := range slices.Chunk(order[:count], maxBatch) {
		batch := make([]I, len(due))
		for i, p := range due {
			batch[i] = s.held[p.index]
			if p.at < s.handed {
				s.late++
			}
			s.handed = max(s.handed, p.at)
		}
		if s.err = s.each(batch); s.err != nil {
			return
		}
	}
	rest := make([]I, 0, len(s.held)-count)
	for _, p := range order[count:] {
		rest = append(rest, s.held[p.index])
	}
	s.held = append(s.held[:0], rest...)
}

// place is where an instance is held, beside its time.
type place struct {
	at    int64
	index int
}

// interruptible has each return ctx's error when that has one. It is nil if each is.
func interruptible[I any](ctx context.Context, each func([]I) error) func([]I) error {
	if each == nil {
		return nil
	}
	return func(batch []I) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return each(batch)
	}
}
