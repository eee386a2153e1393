package writer

import (
	"context"
	"math"

	"github.com/caret-bpf/caret-bpf/trace"
)

// maxEntitySegments is how many segments a table of entities has at most before those are forgotten that ended before
// anything else that is kept.
const maxEntitySegments = 32

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
		if t.segments.table.HasEntities() && t.segments.sequence-max(t.segments.first, t.triedAt) > maxEntitySegments {
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
		}
	})
}
