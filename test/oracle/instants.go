package oracle

import (
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// instant is an event that closes nothing and encloses nothing.
type instant struct {
	kind    instantKind
	bracket groundtruth.Bracket
	event   any
}

// instantKind is a kind of instants, each of which is a row of its table. It is an *instantTable, whatever its events
// and rows.
type instantKind interface {
	// name says what the events are.
	name() string
	// isMinimal tells whether the profile minimal observes them.
	isMinimal() bool
	// happened passes on the events of a ground truth with their threads.
	happened(truth *groundtruth.Truth, each func(tid int, event instant))
	// recorded passes on the rows of a recording, and of which thread and instant each is.
	recorded(data *Dataset, each func(process trace.ProcessKey, tid int32, at int64, row any))
	// compare compares an event of a thread with the kind's rows of the thread.
	compare(c *comparer, tid int32, event instant, rows []found[any])
}

// instantTable is a kind of events of type E with rows of type R.
type instantTable[E, R any] struct {
	what    string
	minimal bool
	events  func(*groundtruth.Truth) []E
	// on tells the thread and the bracket of an event.
	on   func(*E) (tid int, bracket groundtruth.Bracket)
	rows func(*Dataset) []R
	// of tells the thread and the instant of a row.
	of func(*R) (process trace.ProcessKey, tid int32, at int64)
	// check compares an event with its row; nil if it has none.
	check func(c *comparer, what string, event *E, row *R)
}

func (k *instantTable[E, R]) name() string { return k.what }

func (k *instantTable[E, R]) isMinimal() bool { return k.minimal }

func (k *instantTable[E, R]) happened(truth *groundtruth.Truth, each func(tid int, event instant)) {
	events := k.events(truth)
	for i := range events {
		tid, bracket := k.on(&events[i])
		each(tid, instant{kind: k, bracket: bracket, event: &events[i]})
	}
}

func (k *instantTable[E, R]) recorded(data *Dataset, each func(process trace.ProcessKey, tid int32, at int64, row any)) {
	rows := k.rows(data)
	for i := range rows {
		process, tid, at := k.of(&rows[i])
		each(process, tid, at, &rows[i])
	}
}

func (k *instantTable[E, R]) compare(c *comparer, tid int32, event instant, rows []found[any]) {
	what := describe(int(tid), k.what, event.bracket)
	var row *R
	if claimed := one(c, what, rows, event.bracket); claimed != nil {
		row = (*claimed).(*R)
	}
	k.check(c, what, event.event.(*E), row)
}
