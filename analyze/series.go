package analyze

import (
	"context"
	"fmt"
	"slices"
)

const (
	// maxBatch is the most instances that are handed over at once. So few stay in the processor's cache.
	maxBatch = 1 << 11
	// heldInstances is how many instances are held back between windows, to be put in order.
	heldInstances = 1 << 16
	// mostInstances bounds the instances in memory: of one execution there can be as many as somebody asks for.
	mostInstances = 2 * heldInstances
)

// series collects the instances behind an answer for who asked for them, and hands them over batch by batch in the
// order of their time. The memory of a batch is used again: who keeps instances copies them.
//
// They come window by window, in any order within one. An instance may belong to a time long ago: a message was on its
// way since then. So many are held back, and the earliest of them are handed over. The few that come too late all the
// same are counted.
type series[I any] struct {
	each func([]I) error // nil if nobody asked
	// at is the time of an instance; nil: they are handed over as they come.
	at     func(*I) int64
	held   []timed[I]
	room   []*I   // for other instances
	batch  []I    // of those that are handed over
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
	if s.at == nil {
		s.batch = append(s.batch, instance)
		if len(s.batch) == maxBatch {
			s.handBatch()
		}
		return
	}
	if len(s.room) == 0 {
		s.makeRoom()
	}
	last := len(s.room) - 1
	held := s.room[last]
	s.room = s.room[:last]
	*held = instance
	s.held = append(s.held, timed[I]{s.at(held), held})
	if len(s.held) == mostInstances {
		s.hand(mostInstances - heldInstances/2)
	}
}

// makeRoom makes room for more instances. Where an instance lies does not change while it is held: only the list of
// them is put in order.
func (s *series[I]) makeRoom() {
	const instances = 256
	room := make([]I, instances)
	for i := range room {
		s.room = append(s.room, &room[instances-1-i])
	}
}

// flush is called between windows. It returns the first error of handing over.
func (s *series[I]) flush() error {
	switch {
	case s.at == nil:
		s.handBatch()
	case len(s.held) > heldInstances:
		s.hand(len(s.held) - heldInstances/2)
	}
	return s.err
}

// end hands over what is left. It warns of instances that are not in order.
func (s *series[I]) end(q *Query) error {
	s.handBatch()
	s.hand(len(s.held))
	if s.late > 0 && s.err == nil {
		q.Warnings = append(q.Warnings, fmt.Sprintf("%d rows come after rows of a later time: what became of them was known only long after", s.late))
	}
	return s.err
}

// hand hands over that many, the earliest. Of one time the first that came is the first.
func (s *series[I]) hand(count int) {
	if !s.wanted() || count == 0 {
		return
	}
	sortByTime(s.held)
	for due := range slices.Chunk(s.held[:count], maxBatch) {
		s.batch = slices.Grow(s.batch, len(due))
		for _, of := range due {
			s.batch = append(s.batch, *of.event)
			var none I
			*of.event = none // it may refer to much
			s.room = append(s.room, of.event)
			if of.at < s.handed {
				s.late++
			}
			s.handed = max(s.handed, of.at)
		}
		if s.handBatch(); s.err != nil {
			return
		}
	}
	s.held = slices.Delete(s.held, 0, count)
}

// handBatch hands over what is in the batch.
func (s *series[I]) handBatch() {
	if !s.wanted() || len(s.batch) == 0 {
		return
	}
	s.err = s.each(s.batch)
	clear(s.batch)
	s.batch = s.batch[:0]
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
