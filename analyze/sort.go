package analyze

import (
	"cmp"
	"slices"
)

// sortByTime sorts events by their time; those of the same time keep their order. Events come nearly sorted: most are
// moved by few places or none.
func sortByTime[E any](events []timed[E]) {
	moves := 4 * len(events)
	for i := 1; i < len(events); i++ {
		e, to := events[i], i
		for ; to > 0 && events[to-1].at > e.at; to-- {
			events[to] = events[to-1]
		}
		if to == i {
			continue
		}
		events[to] = e
		if moves -= i - to; moves < 0 {
			slices.SortStableFunc(events, func(a, b timed[E]) int { return cmp.Compare(a.at, b.at) })
			return
		}
	}
}
