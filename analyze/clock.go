package analyze

import "slices"

// clockCorrection brings the times of one dataset on the clock that all datasets of a query share. A dataset's times
// are monotonic ones plus the offset to real time at its start. Recordings of one boot share the monotonic clock, and
// differ by a constant; those of different hosts have clocks of their own (clockHosts).
type clockCorrection struct {
	// constant brings them on the clock of the host.
	constant int64
	// points are what is to be added to the host's times then, by these; nil where that is nothing.
	points []clockPoint
}

type clockPoint struct {
	at, correction int64
}

// correct returns the time on the common clock.
func (c *clockCorrection) correct(at int64) int64 {
	at += c.constant
	if len(c.points) == 0 {
		return at
	}
	return at + correctionAt(c.points, at)
}

// correctionAt is interpolated between the points, and that of the nearest one outside of them.
func correctionAt(points []clockPoint, at int64) int64 {
	i, _ := slices.BinarySearchFunc(points, at, func(p clockPoint, at int64) int { return compareTimes(p.at, at) })
	switch {
	case i == 0:
		return points[0].correction
	case i == len(points):
		return points[i-1].correction
	}
	a, b := points[i-1], points[i]
	share := float64(at-a.at) / float64(b.at-a.at)
	return a.correction + int64(share*float64(b.correction-a.correction))
}

func compareTimes(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
