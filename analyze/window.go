package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// windowRows is the number of rows that are read for a window of time, about, unless Query.WindowRows says otherwise.
// It bounds the memory of a query.
const windowRows = 1 << 18

// stream is the rows of a table in the order of their time, read window after window. Rows lie in a table in the order
// of their completion; the statistics of the row groups tell which groups a window needs.
type stream[E any] struct {
	groups []tableGroup
	read   func(ctx context.Context, worker int, g tableGroup) ([]timed[E], error)

	next int        // the first group that was not read
	rest []timed[E] // events that belong to a later window; their rows come before those of other groups
}

// timed is an event beside its time: so many are put in order without looking at each.
type timed[E any] struct {
	at    int64
	event *E
}

// reading returns what has to be read for the events before the limit. When it all was, finish returns the events.
func (s *stream[E]) reading(limit int64) (tasks []readTask, finish func() []*E) {
	due := s.next
	for due < len(s.groups) && (s.groups[due].begin < limit || limit == math.MaxInt64) {
		due++
	}
	groups := s.groups[s.next:due]
	s.next = due
	parts := make([][]timed[E], len(groups))
	for i, g := range groups {
		tasks = append(tasks, func(ctx context.Context, worker int) (err error) {
			parts[i], err = s.read(ctx, worker, g)
			sortByTime(parts[i])
			return err
		})
	}
	return tasks, func() []*E { return s.cut(append(s.rest, slices.Concat(parts...)...), limit) }
}

// cut puts sorted parts in order, keeps those of later windows and returns the others.
func (s *stream[E]) cut(events []timed[E], limit int64) []*E {
	sortByTime(events)
	due := len(events)
	if limit != math.MaxInt64 {
		due, _ = slices.BinarySearchFunc(events, limit, func(e timed[E], limit int64) int { return cmp.Compare(e.at, limit) })
	}
	s.rest = slices.Clone(events[due:])
	window := make([]*E, due)
	for i := range window {
		window[i] = events[i].event
	}
	return window
}

// windowLimits cuts time so that between two limits the groups of about as many rows begin as a window has. The last
// limit is the greatest time.
func (q *Query) windowLimits(lists ...[]tableGroup) []int64 {
	most := int64(cmp.Or(q.WindowRows, windowRows))
	groups := slices.Concat(lists...)
	slices.SortFunc(groups, func(a, b tableGroup) int { return cmp.Compare(a.begin, b.begin) })
	var limits []int64
	var rows int64
	for i, g := range groups {
		if rows >= most && (i == 0 || g.begin > groups[i-1].begin) {
			limits = append(limits, g.begin)
			rows = 0
		}
		rows += g.Rows()
	}
	return append(limits, math.MaxInt64)
}
