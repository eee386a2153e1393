package trigger

import (
	"cmp"
	"encoding/json"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Firing is something that has come and is to be acted upon.
type Firing struct {
	Definition Definition
	Trigger    trace.Trigger
	// Span is the time around it that is wanted.
	Span trace.Span
}

// Watch watches for what several definitions wait for. Its methods may be called by several goroutines. Memory is
// bounded: what is beyond the bounds is not noticed, and Beyond counts it.
type Watch struct {
	mu      sync.Mutex
	watched []*watched
	beyond  beyond
}

// watched is one definition, and what came of it.
type watched struct {
	definition Definition
	condition  condition
	count      trace.TriggerCount
	acted      int64 // when it was last acted upon, 0: never
	day        int64 // when the present 24 hours began
	today      int   // how often it was acted upon in them
}

// condition is what a kind keeps in mind. Times are on the dataset's clock, in nanoseconds.
type condition interface {
	// look looks at rows as they come.
	look(b *trace.Batch, found found)
	// tick looks at the time.
	tick(now int64, found found)
}

// found says that something has come. The row may be nil.
type found func(at int64, reason string, row seenRow)

// seenRow is a row in which something was seen.
type seenRow interface {
	describe() (table string, row json.RawMessage)
}

// rowOf is a row of a table.
type rowOf[T any] struct {
	rows *trace.Rows[T]
	i    int
}

func (r rowOf[T]) describe() (string, json.RawMessage) {
	table := trace.TableOf[T]()
	return table.Name, trace.EncodeRow(table, r.rows, r.i)
}

// NewWatch watches from now on.
func NewWatch(definitions []Definition) *Watch {
	w := new(Watch)
	for _, d := range definitions {
		w.watched = append(w.watched, &watched{
			definition: d, condition: newCondition(d, &w.beyond), count: trace.TriggerCount{Name: d.Name, Definition: d.Text},
		})
	}
	return w
}

// Look returns what is to be acted upon because of rows that have come.
func (w *Watch) Look(b *trace.Batch) []Firing {
	return w.each(func(of *watched, found found) { of.condition.look(b, found) })
}

// Tick returns what is to be acted upon because of the time. It is to be called about every second or more often.
func (w *Watch) Tick(now int64) []Firing {
	return w.each(func(of *watched, found found) { of.condition.tick(now, found) })
}

// Fire returns what is to be acted upon because somebody asks for it; ok is false if there is no definition of that
// name. The same bounds hold as for what comes by itself.
func (w *Watch) Fire(name string, now int64, reason string) (firings []Firing, ok bool) {
	firings = w.each(func(of *watched, found found) {
		if of.definition.Name == name {
			ok = true
			found(now, reason, nil)
		}
	})
	return firings, ok
}

func (w *Watch) each(look func(of *watched, found found)) (firings []Firing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.watched {
		look(of, func(at int64, reason string, row seenRow) {
			if !of.isDue(at) {
				return
			}
			t := trace.Trigger{Name: of.definition.Name, Definition: of.definition.Text, Timestamp: at, Reason: reason}
			if row != nil {
				t.Table, t.Row = row.describe()
			}
			d := of.definition
			firings = append(firings, Firing{d, t, trace.Span{First: at - d.Before.Nanoseconds(), Last: at + d.After.Nanoseconds()}})
		})
	}
	return firings
}

// isDue counts that something has come, and reports whether it is to be acted upon.
func (of *watched) isDue(at int64) bool {
	of.count.Last = max(of.count.Last, at)
	d := of.definition
	if of.acted != 0 && at < of.acted+d.After.Nanoseconds()+d.Cooldown.Nanoseconds() {
		of.count.Suppressed++
		return false
	}
	if at >= of.day+(24*time.Hour).Nanoseconds() {
		of.day, of.today = at, 0
	}
	if of.today >= d.PerDay {
		of.count.Suppressed++
		return false
	}
	of.acted = at
	of.today++
	of.count.Fired++
	return true
}

// Drop says that what was to be acted upon is not.
func (w *Watch) Drop(f Firing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.watched {
		if of.definition.Name == f.Definition.Name {
			of.count.Fired--
			of.count.Suppressed++
		}
	}
}

// Acted says what came of what was to be acted upon: the dataset that was made last, "" if none was, and how many
// actions have failed.
func (w *Watch) Acted(f Firing, output string, failed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.watched {
		if of.definition.Name == f.Definition.Name {
			of.count.Output = cmp.Or(output, of.count.Output)
			of.count.Failed += uint64(failed)
		}
	}
}

// Counts says how often each has come, and what came of it.
func (w *Watch) Counts() (counts []trace.TriggerCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, of := range w.watched {
		counts = append(counts, of.count)
	}
	return counts
}

// Beyond is more than 0 if not everything was watched: it counts messages of topics, and callbacks at the end of paths,
// for which there was no room, or whose messages may have been forgotten.
func (w *Watch) Beyond() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beyond.count
}

// beyond counts what is not watched.
type beyond struct{ count uint64 }
