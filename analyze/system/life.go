package system

import (
	"math"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Life is when an entity existed, on the recording's clock in Unix nanoseconds: from Init on until before End. (What
// happened at End, by a coarse clock, is of it nevertheless if nobody else was there.) Null is: before or after what
// was recorded. A life that has ended when it begins, as a dataset may claim, is its begin only.
type Life struct {
	Init, End trace.Optional[int64]
}

// first is the first time of the life.
func (l *Life) first() int64 {
	if !l.Init.Valid {
		return math.MinInt64
	}
	return l.Init.Value
}

// last is the last time of the life.
func (l *Life) last() int64 {
	switch {
	case !l.End.Valid:
		return math.MaxInt64
	case l.End.Value <= l.first():
		return l.first()
	}
	return l.End.Value - 1
}

// Contains tells whether the time lies in the life.
func (l Life) Contains(at int64) bool { return l.first() <= at && at <= l.last() }

func (l Life) overlaps(other Life) bool {
	return l.first() <= other.last() && other.first() <= l.last()
}
