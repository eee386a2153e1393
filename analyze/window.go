package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
)

// windowRows is the number of rows that are read for a window of time, about, unless Query.WindowRows says otherwise.
// It bounds the memory of a query.
const windowRows = 1 << 18

// stream is the rows of a table in the order of their time, read window after window. Rows lie in a table in the order
// of their completion; the statistics of the row groups tell which groups a window needs.
type stream[E any] struct {
	groups []tableGroup
	read   func(ctx context.Context, worker int, g tableGroup) ([]timed[E], error)

	next   int        // the first group that was not read
	rest   []timed[E] // events that belong to a later window; their rows come before those of other groups
	merged []timed[E] // room for those of a window
	lists  *timedLists[E]

	// chunks returns those in which a goroutine has made the events of the group that it read last; nil if their memory
	// is not used again. held are those with events of later windows, settled those of the last window.
	chunks        func(worker int) [][]E
	held, settled []heldChunks[E]
}

// heldChunks are those of a row group, whose last event was at that time.
type heldChunks[E any] struct {
	chunks [][]E
	last   int64
}

// timedLists are lists whose memory is used again. They are safe for concurrent use. Nil are none.
type timedLists[E any] struct {
	mu   sync.Mutex
	free [][]timed[E]
}

// take returns an empty list with room for about so many events.
func (l *timedLists[E]) take(events int64) []timed[E] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.free) - 1; last >= 0 && int64(cap(l.free[last])) >= events/2 {
		list := l.free[last]
		l.free = l.free[:last]
		return list[:0]
	}
	return make([]timed[E], 0, events)
}

// giveBack takes a list that nobody uses any more.
func (l *timedLists[E]) giveBack(list []timed[E]) {
	if l == nil || len(list) < chunkSize {
		return
	}
	clear(list)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, list)
}

// timed is an event beside its time: so many are put in order without looking at each.
type timed[E any] struct {
	at    int64
	event *E
}

// reading returns what has to be read for the events before the limit. When it all was, finish returns the events.
func (s *stream[E]) reading(limit int64) (tasks []readTask, finish func() []*E) {
	tasks, appended := s.readingTo(limit)
	return tasks, func() []*E { return appended(nil) }
}

// readingTo is reading for a finish that appends the events.
func (s *stream[E]) readingTo(limit int64) (tasks []readTask, finish func(to []*E) []*E) {
	due := s.next
	for due < len(s.groups) && (s.groups[due].begin < limit || limit == math.MaxInt64) {
		due++
	}
	groups := s.groups[s.next:due]
	s.next = due
	parts, chunks := make([][]timed[E], len(groups)), make([]heldChunks[E], len(groups))
	for i, g := range groups {
		tasks = append(tasks, func(ctx context.Context, worker int) (err error) {
			parts[i], err = s.read(ctx, worker, g)
			sortByTime(parts[i])
			if s.chunks != nil && len(parts[i]) > 0 {
				chunks[i] = heldChunks[E]{s.chunks(worker), parts[i][len(parts[i])-1].at}
			}
			return err
		})
	}
	return tasks, func(to []*E) []*E {
		s.settle(chunks, limit)
		s.merged = append(s.merged[:0], s.rest...)
		for _, part := range parts {
			s.merged = append(s.merged, part...)
			s.lists.giveBack(part)
		}
		return s.cut(to, limit)
	}
}

// settle finds out which chunks later windows have nothing in.
func (s *stream[E]) settle(read []heldChunks[E], limit int64) {
	s.held, s.settled = append(s.held, read...), nil
	s.held = slices.DeleteFunc(s.held, func(c heldChunks[E]) bool {
		settled := c.last < limit || limit == math.MaxInt64
		if settled && len(c.chunks) > 0 {
			s.settled = append(s.settled, c)
		}
		return settled
	})
}

// cut puts sorted parts in order, keeps those of later windows and appends the others.
func (s *stream[E]) cut(to []*E, limit int64) []*E {
	events := s.merged
	sortByTime(events)
	due := len(events)
	if limit != math.MaxInt64 {
		due, _ = slices.BinarySearchFunc(events, limit, func(e timed[E], limit int64) int { return cmp.Compare(e.at, limit) })
	}
	clear(s.rest)
	s.rest = append(s.rest[:0], events[due:]...)
	to = slices.Grow(to, due)
	for i := range events[:due] {
		to = append(to, events[i].event)
	}
	clear(events)
	return to
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
