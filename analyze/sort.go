package analyze

import (
	"cmp"
	"slices"
)

// sortByTime sorts events by their time; those of the same time keep their order. Events come nearly sorted: most are moved by few places or none.
func sortByTime[E any](events []*E, at func(*E) int64) {
	moves := 4 * len(events)
	for i := 1; i < len(events); i++ {
		e, time := events[i], at(events[i])
		to := i
		for ; to > 0 && at(events[to-1]) > time; to-- {
			events[to] = events[to-1]
		}
		events[to] = e
		if moves -= i - to; moves < 0 {
			slices.SortStableFunc(events, func(a, b *E) int { return cmp.Compare(at(a), at(b)) })
			return
		}
	}
}
