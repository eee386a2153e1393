package chart

// StackedBar draws of which parts durations consist, over time: a bar for each message, with the hops of its path
// stacked.
//
// It keeps up to 2,048 bars. Where there are more than a picture has room for, it draws the longest one of each
// interval.
type StackedBar struct {
	Name string
	// Axis is what the values are: "latency".
	Axis string
	// Of is what has them: "messages".
	Of string
	// Parts name the parts, the lowest first.
	Parts []string
	// Missing is said below.
	Missing []Missing

	bars     bounded[stack]
	count    uint64
	negative uint64
	greatest int64
	times    span
}

// stack is one bar.
type stack struct {
	at, total int64
	parts     []int64 // not negative
}

// Add adds a bar at a time, in nanoseconds, with a length for each part.
func (s *StackedBar) Add(at int64, parts []int64) {
	at = limitTime(at)
	var total int64
	lengths := make([]int64, len(parts))
	for i, part := range parts {
		if part < 0 {
			s.negative++
		}
		lengths[i] = min(max(part, 0), greatestValue-total)
		total += lengths[i]
	}
	if s.count == 0 {
		s.times = span{at, at}
		s.bars = bounded[stack]{limit: keptMoments, round: roundTime, merge: keepLonger}
	}
	s.count++
	s.greatest = max(s.greatest, total)
	s.times = s.times.with(span{at, at})
	s.bars.add(at, stack{at, total, lengths})
}

func keepLonger(into *stack, more stack) {
	if more.total > into.total {
		*into = more
	}
}

func (s *StackedBar) span() (span, bool) { return s.times, s.count > 0 }

// interval is a part of time with the longest bar in it.
type interval struct {
	begin int64 // since the begin of the axis
	stack
}

// intervals divides the axis of time into at most so many parts, and returns those that have a bar, and their length.
// Where bars were joined before, a part begins and ends with what was joined, so its length is not exact.
func (s *StackedBar) intervals(axis span, most int) (found []interval, length int64) {
	length = niceStep(axis.last-axis.first+1, most)
	for _, bar := range s.bars.all() {
		begin := floorTo(max(bar.key-axis.first, 0), length)
		if last := len(found) - 1; last >= 0 && found[last].begin == begin {
			keepLonger(&found[last].stack, bar.what)
		} else {
			found = append(found, interval{begin, bar.what})
		}
	}
	return found, length
}

// notes say what the panel shows, in lines of that width.
func (s *StackedBar) notes(drawn int, length int64, width int) []string {
	text := summary(s.count, s.Of, s.Missing)
	if uint64(drawn) < s.count {
		about := ""
		if s.bars.coarseness > 0 {
			about = "about "
		}
		text += "; each bar is the longest one of " + about + Nanoseconds.show(length)
	}
	if s.negative > 0 {
		text += "; negative, because clocks differ, and without a length here: " + counted(s.negative, "parts")
	}
	return wrap(text, width)
}
