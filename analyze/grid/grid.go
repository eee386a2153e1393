// Package grid tells when timers were due: at the points of a grid that their period makes.
package grid

import "github.com/caret-bpf/caret-bpf/trace"

// ClockStep is by how much a time may be too early or too late because a clock goes in steps: some go microsecond by
// microsecond. A timer that was called at once may seem to have been called that much too early. In nanoseconds.
const ClockStep = 1000

// Grid are the points at which a timer was due. rcl calls a timer at these points, never before, and leaves out those
// that it missed. Times are in nanoseconds, all on one clock.
type Grid struct {
	// Period is the timer's. Without one there is no grid.
	Period int64
	// Origin is the timer's init. Without it, starts are compared with the first one and may be somewhat before it.
	Origin trace.Optional[int64]

	begin trace.Optional[int64]
}

// Start tells of a start of the timer. The first one lays the grid where the origin is not known.
func (g *Grid) Start(at int64) {
	switch {
	case g.begin.Valid:
	case g.Origin.Valid:
		g.begin = g.Origin
	default:
		g.begin = trace.Some(at)
	}
}

// Point numbers the point to which a start belongs.
func (g *Grid) Point(at int64) int64 {
	since := at - g.begin.Value
	if g.Origin.Valid {
		since += min(ClockStep, g.Period/2)
	} else {
		since += g.Period / 2
	}
	return floorDivision(since, g.Period)
}

// At is when a point is.
func (g *Grid) At(point int64) int64 { return g.begin.Value + point*g.Period }

// Lateness is by how much a start was behind its point. Where the origin is not known, it is compared with that of the
// first start, and may be negative.
func (g *Grid) Lateness(at int64) int64 { return at - g.At(g.Point(at)) }

// IsUncertain tells whether the grid may be another one, by the least and the greatest lateness of the starts. Without
// an origin it is laid by them alone, and does not tell if they differ by half a period and more. It is not known how
// late they were then.
func (g *Grid) IsUncertain(least, greatest int64) bool {
	return g.Period > 0 && !g.Origin.Valid && greatest-least >= g.Period/2
}

func floorDivision(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
