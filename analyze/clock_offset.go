package analyze

import "math"

// mostKnots bounds how many offsets there are of two clocks.
const mostKnots = 1 << 16

// No bound of an offset.
const (
	noUpper = math.MaxInt64
	noLower = math.MinInt64
)

// timeGrid is a row of times with the same step between them.
type timeGrid struct {
	first, step int64
	count       int
}

// newTimeGrid has the times from first to last, with that step or a longer one.
func newTimeGrid(first, last, step int64) timeGrid {
	for (last-first)/step > mostKnots {
		step *= 2
	}
	return timeGrid{first: first, step: step, count: int((last-first)/step) + 2}
}

func (g timeGrid) at(knot int) int64 { return g.first + int64(knot)*g.step }

// around returns the knots before and behind a time: twice the nearest one outside of the grid.
func (g timeGrid) around(at int64) (before, behind int) {
	switch {
	case at <= g.first:
		return 0, 0
	case at >= g.at(g.count-1):
		return g.count - 1, g.count - 1
	}
	before = int((at - g.first) / g.step)
	return before, before + 1
}

// offsetBounds bound by how much a second clock is ahead of a first one, at times by the first one.
type offsetBounds struct {
	timeGrid
	lower, upper []int64
	drift        *gridDrift
}

// newOffsetBounds are none yet. The clocks drift at the worst of their rates at all times.
func newOffsetBounds(grid timeGrid, rate pairRate) *offsetBounds {
	b := &offsetBounds{timeGrid: grid, lower: make([]int64, grid.count), upper: make([]int64, grid.count), drift: newGridDrift(grid, rate)}
	for i := range grid.count {
		b.lower[i], b.upper[i] = noLower, noUpper
	}
	return b
}

// offsetsOf concludes the bounds from messages: no message arrives before it was sent. The times of to and back are by
// the first clock. It is nil where there is no message.
func offsetsOf(to, back []crossing, width int64, rate pairRate) *offsetBounds {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, list := range [][]crossing{to, back} {
		for _, c := range list {
			first, last = min(first, c.at), max(last, c.at)
		}
	}
	if first > last {
		return nil
	}
	b := newOffsetBounds(newTimeGrid(first, last, width), rate)
	b.takeIn(to, back)
	b.spread()
	b.drift = b.followed(rate)
	b.takeIn(to, back)
	b.spread()
	return b
}

func (b *offsetBounds) takeIn(to, back []crossing) {
	for _, c := range to {
		b.narrow(c.at, noLower, c.difference)
	}
	for _, c := range back {
		b.narrow(c.at, -c.difference, noUpper)
	}
}

// narrow takes in what bounds the offset at a time.
func (b *offsetBounds) narrow(at, lower, upper int64) {
	before, behind := b.around(at)
	for _, k := range []int{before, behind} {
		away := b.drift.between(at, b.at(k))
		b.upper[k] = min(b.upper[k], above(upper, away))
		b.lower[k] = max(b.lower[k], below(lower, away))
	}
}

// spread takes in that what is known at one time is nearly so at the next one.
func (b *offsetBounds) spread() {
	for k := 1; k < b.count; k++ {
		away := b.drift.between(b.at(k-1), b.at(k))
		b.upper[k], b.lower[k] = min(b.upper[k], above(b.upper[k-1], away)), max(b.lower[k], below(b.lower[k-1], away))
	}
	for k := b.count - 2; k >= 0; k-- {
		away := b.drift.between(b.at(k), b.at(k+1))
		b.upper[k], b.lower[k] = min(b.upper[k], above(b.upper[k+1], away)), max(b.lower[k], below(b.lower[k+1], away))
	}
}

// when returns the bounds at a time.
func (b *offsetBounds) when(at int64) (lower, upper int64) {
	lower, upper = noLower, noUpper
	before, behind := b.around(at)
	for _, k := range []int{before, behind} {
		away := b.drift.between(at, b.at(k))
		lower, upper = max(lower, below(b.lower[k], away)), min(upper, above(b.upper[k], away))
	}
	return lower, upper
}

// isContradictory tells whether no offset fits all that is known.
func (b *offsetBounds) isContradictory() bool {
	for k := range b.count {
		if b.lower[k] > b.upper[k] {
			return true
		}
	}
	return false
}

// isTwoSided tells whether there is a bound on both sides.
func isTwoSided(lower, upper int64) bool { return lower != noLower && upper != noUpper }

// middle is the offset between two bounds, and how far it is from both at most.
func middle(lower, upper int64) (offset, within int64) {
	offset = lower + (upper-lower)/2
	return offset, max(upper-offset, offset-lower)
}

// above adds to an upper bound, if it is one. One that is too great for sums is none.
func above(upper, more int64) int64 {
	switch sum := upper + more; {
	case upper == noUpper || sum > utmostTime:
		return noUpper
	default:
		return max(sum, -utmostTime)
	}
}

// below takes from a lower bound, if it is one, likewise.
func below(lower, less int64) int64 {
	switch difference := lower - less; {
	case lower == noLower || difference < -utmostTime:
		return noLower
	default:
		return min(difference, utmostTime)
	}
}
