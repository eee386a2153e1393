package analyze

import "math"

const (
	// leastWindow is the time of which the least difference is kept.
	leastWindow = int64(1_000_000_000)
	// mostWindows bounds how many of them are kept. Beyond it they are made longer.
	mostWindows = 1 << 15
	// utmostTime bounds the times and the differences that are looked at, so that sums of two have room.
	utmostTime = math.MaxInt64 / 4
)

// crossing is one message from a host to another: by how much the receiver's clock, when it had the message, was ahead
// of the sender's, when that sent it. at is the time by the clock of one of the two.
type crossing struct {
	at, difference int64
}

// leastCrossings keeps the crossings in one direction that took least, one of each window of time.
type leastCrossings struct {
	width int64
	least map[int64]crossing // by the number of the window
	count uint64             // of all
}

func newLeastCrossings() *leastCrossings {
	return &leastCrossings{width: leastWindow, least: make(map[int64]crossing)}
}

func (l *leastCrossings) add(c crossing) {
	if abs(c.at) > utmostTime || abs(c.difference) > utmostTime || abs(c.at+c.difference) > utmostTime {
		return
	}
	l.count++
	l.keep(c)
	for len(l.least) > mostWindows {
		all := l.least
		l.width, l.least = 2*l.width, make(map[int64]crossing)
		for _, c := range all {
			l.keep(c)
		}
	}
}

func (l *leastCrossings) keep(c crossing) {
	window := floorDivide(c.at, l.width)
	if known, ok := l.least[window]; !ok || c.difference < known.difference || c.difference == known.difference && c.at < known.at {
		l.least[window] = c
	}
}

// floorDivide rounds down.
func floorDivide(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}
