package analyze

// sortByTime sorts events by their time; those of the same time keep their order. Events come nearly sorted: most are
// moved by few places or none. Else they come in a few sorted lists, one behind the other.
func sortByTime[E any](events []timed[E]) {
	moves := 4 * len(events)
	for i := 1; i < len(events); i++ {
		e, to := events[i], i
		for ; to > 0 && events[to-1].at > e.at; to-- {
			if moves--; moves < 0 {
				events[to] = e
				mergeRuns(events)
				return
			}
			events[to] = events[to-1]
		}
		if to < i {
			events[to] = e
		}
	}
}

// mergeRuns sorts events by merging the sorted runs that they consist of. Those of the same time keep their order.
func mergeRuns[E any](events []timed[E]) {
	var ends []int // of the runs
	for i := range events {
		if i+1 == len(events) || events[i+1].at < events[i].at {
			ends = append(ends, i+1)
		}
	}
	room := make([]timed[E], 0, len(events))
	for len(ends) > 1 {
		merged, begin := ends[:0], 0
		for i := 0; i < len(ends); i += 2 {
			middle, end := ends[i], ends[min(i+1, len(ends)-1)]
			if middle < end {
				room = mergeTwo(events[begin:middle], events[middle:end], room)
			}
			merged, begin = append(merged, end), end
		}
		ends = merged
	}
}

// mergeTwo merges two sorted lists of which the second one lies behind the first one. It returns the room that it used.
func mergeTwo[E any](first, second, room []timed[E]) []timed[E] {
	room = append(room[:0], first...)
	left, to := room, first[:len(first)+len(second)]
	for i := range to {
		switch {
		case len(left) == 0:
			return room // what is left of the second one is where it belongs
		case len(second) > 0 && second[0].at < left[0].at:
			to[i], second = second[0], second[1:]
		default:
			to[i], left = left[0], left[1:]
		}
	}
	return room
}
