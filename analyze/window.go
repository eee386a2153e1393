package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// windowRows is the number of rows that are read for a window of time, about: it bounds the memory of a query.
const windowRows = 1 << 20

// stream is the rows of a table in the order of their time, read window after window. Rows lie in a table in the order of their
// completion; the statistics of the row groups tell which groups a window needs.
type stream[E any] struct {
	groups []tableGroup
	read   func(ctx context.Context, worker int, g tableGroup) ([]*E, error)
	at     func(*E) int64

	next int  // the first group that was not read
	rest []*E // events that belong to a later window
}

// until returns the events before the limit that have not been returned yet, in the order of their time.
func (s *stream[E]) until(ctx context.Context, limit int64) ([]*E, error) {
	due := s.next
	for due < len(s.groups) && (s.groups[due].begin < limit || limit == math.MaxInt64) {
		due++
	}
	parts := make([][]*E, due-s.next)
	err := inParallel(ctx, len(parts), func(ctx context.Context, worker, i int) (err error) {
		parts[i], err = s.read(ctx, worker, s.groups[s.next+i])
		return err
	})
	if err != nil {
		return nil, err
	}
	s.next = due
	events := append(slices.Concat(parts...), s.rest...)
	slices.SortStableFunc(events, func(a, b *E) int { return cmp.Compare(s.at(a), s.at(b)) })
	if limit == math.MaxInt64 {
		s.rest = nil
		return events, nil
	}
	cut, _ := slices.BinarySearchFunc(events, limit, func(e *E, limit int64) int { return cmp.Compare(s.at(e), limit) })
	s.rest = slices.Clone(events[cut:])
	return events[:cut], nil
}

// windowLimits cuts time so that between two limits the groups of about windowRows rows begin. The last limit is the greatest time.
func windowLimits(lists ...[]tableGroup) []int64 {
	groups := slices.Concat(lists...)
	slices.SortFunc(groups, func(a, b tableGroup) int { return cmp.Compare(a.begin, b.begin) })
	var limits []int64
	var rows int64
	for i, g := range groups {
		if rows >= windowRows && (i == 0 || g.begin > groups[i-1].begin) {
			limits = append(limits, g.begin)
			rows = 0
		}
		rows += g.Rows()
	}
	return append(limits, math.MaxInt64)
}
