package writer

import (
	"context"
	"math"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// maxEntitySegments is how many segments a table of entities has at most before those are forgotten that ended before
	// anything else that is kept.
	maxEntitySegments = 32
	// entityShare is the part of what is kept, as its inverse, that a table of entities takes before this is done earlier.
	entityShare = 16
)

// forgetEnded leaves entities out that had ended before what retention has left, and all but one row of the others,
// where these have many segments: a recording that goes on for weeks would have ever more of them. It waits until what
// is closed is on disk; encoder goroutine only.
func (e *encoder) forgetEnded() {
	until := e.kept.removed().Until
	if until == 0 {
		return
	}
	var due []*table
	for _, t := range e.tables.all() {
		if t.segments.table.HasEntities() && t.mayForget(e.kept.limits.Bytes) {
			due = append(due, t)
		}
	}
	if len(due) == 0 {
		return
	}
	e.kept.unlessHeld(func() {
		reached := make(chan struct{})
		e.commits <- commitment{reached: reached}
		<-reached
		for _, t := range due {
			within := trace.NewWindow(t.segments.table, trace.Span{First: until, Last: math.MaxInt64})
			// Whatever hinders it, the rows that count are there, perhaps twice. It is tried again later.
			if t.compact(context.Background(), within) != nil {
				t.triedAt = t.segments.sequence
			}
			t.bytesTried = t.bytes()
		}
	})
}

// mayForget reports whether a table has many segments, or takes a notable part of what is kept. It is read as whole:
// only when it has twice as much as after the last time, so that a table of many entities is not read ever again.
func (t *table) mayForget(kept int64) bool {
	return t.segments.sequence-max(t.segments.first, t.triedAt) > maxEntitySegments ||
		kept > 0 && t.bytes() > max(kept/entityShare, 2*t.bytesTried)
}
