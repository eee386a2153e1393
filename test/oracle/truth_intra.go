package oracle

import (
	"cmp"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/standin"
)

// resolveIntraProcess says when a recorder can know what happened to buffers. Jazzy has tracepoints for it. On Humble a
// publish shows when its subscriptions are counted and when each of them that got the message is triggered, a dequeue
// when the executor executes what it got, or, in a StaticSingleThreadedExecutor, when the callback starts.
func (t *Truth) resolveIntraProcess() {
	derived := t.Header.Distro == standin.Humble
	static := slices.ContainsFunc(t.ConstructExecutors, func(e groundtruth.ConstructExecutor) bool {
		return e.Type == groundtruth.ExecutorStaticSingleThreaded
	})
	for _, thread := range t.threads {
		slices.SortFunc(thread.enqueues, func(a, b *enqueueTruth) int { return cmp.Compare(a.Bracket.Before, b.Bracket.Before) })
		slices.SortFunc(thread.dequeues, func(a, b *dequeueTruth) int { return cmp.Compare(a.Bracket.Before, b.Bracket.Before) })
		for _, e := range thread.enqueues {
			e.observable, e.needed = e.Bracket, e.Bracket
		}
		for _, d := range thread.dequeues {
			d.observable = d.Bracket
		}
		if derived {
			t.deriveEnqueues(thread)
			thread.deriveDequeues(static)
		}
	}
	for _, thread := range t.threads {
		for _, e := range thread.enqueues {
			t.addOperation(e.Buffer, operation{thread: thread, enqueue: true, bracket: e.Bracket, needed: e.needed})
		}
		for _, d := range thread.dequeues {
			t.addOperation(d.Buffer, operation{thread: thread, bracket: d.Bracket, needed: d.observable})
		}
	}
	for _, operations := range t.operations {
		slices.SortFunc(operations, func(a, b operation) int { return cmp.Compare(a.bracket.Before, b.bracket.Before) })
	}
}

// deriveEnqueues uses the halves of publishes, which a killed process may not have written down.
func (t *Truth) deriveEnqueues(thread *threadTruth) {
	for i, e := range thread.enqueues {
		half := t.intraHalf(thread.tid, e)
		limit := half.After
		if i+1 < len(thread.enqueues) && thread.enqueues[i+1].Bracket.Before < limit {
			limit = thread.enqueues[i+1].Bracket.Before
		}
		e.observable = groundtruth.Bracket{Before: e.Bracket.After, After: limit}
		e.needed = groundtruth.Bracket{Before: half.Before, After: limit}
		if p := e.publish; p != nil && !p.Intra.Happened() {
			// The message that the user published is not seen, only what got into the first buffer.
			p.Intra, p.IntraMessage = e.needed, e.Message
		}
	}
}

func (t *Truth) intraHalf(tid int32, e *enqueueTruth) groundtruth.Bracket {
	for _, half := range t.IntraPublishes {
		if half.TID == int(tid) && half.PublishNumber == e.PublishNumber &&
			half.Bracket.Before <= e.Bracket.Before && e.Bracket.After <= half.Bracket.After {
			return half.Bracket
		}
	}
	return groundtruth.Bracket{Before: e.Bracket.Before, After: math.MaxUint64}
}

func (t *threadTruth) deriveDequeues(static bool) {
	hits := t.sortHits()
	for i, d := range t.dequeues {
		limit := uint64(math.MaxUint64)
		if next := nextHit(hits, d.Bracket.After); next.Happened() {
			limit = next.Before
		}
		if i+1 < len(t.dequeues) {
			limit = min(limit, t.dequeues[i+1].Bracket.Before)
		}
		if d.feeds != nil {
			limit = d.feeds.Start.Before
		}
		d.observable = groundtruth.Bracket{Before: d.Bracket.After, After: limit}
		if static && d.feeds != nil {
			d.observable, d.concluded = d.feeds.Start, true
		}
	}
}

// operation is an enqueue or a dequeue of a buffer; needed is what must have been recorded so that the recorder knows
// of it.
type operation struct {
	thread          *threadTruth
	enqueue         bool
	bracket, needed groundtruth.Bracket
}

func (t *Truth) addOperation(buffer uint64, o operation) {
	if t.operations == nil {
		t.operations = map[uint64][]operation{}
	}
	t.operations[buffer] = append(t.operations[buffer], o)
}

// disturbed reports whether another thread used a buffer in an interval.
func (t *Truth) disturbed(buffer uint64, thread *threadTruth, from, to uint64) bool {
	return slices.ContainsFunc(t.operations[buffer], func(o operation) bool {
		return o.thread != thread && o.bracket.After >= from && o.bracket.Before <= to
	})
}

// before returns the last operation of a buffer that began before an instant, false if there was none.
func (t *Truth) before(buffer uint64, at uint64) (operation, bool) {
	operations := t.operations[buffer]
	i, _ := slices.BinarySearchFunc(operations, at, func(o operation, at uint64) int { return cmp.Compare(o.bracket.Before, at) })
	if i == 0 {
		return operation{}, false
	}
	return operations[i-1], true
}

// createdBetween reports whether a subscription was created in an interval, so that a buffer may be another one at the
// same address.
func (t *Truth) createdBetween(from, to uint64) bool {
	return slices.ContainsFunc(t.EntityInits, func(init groundtruth.EntityInit) bool {
		return init.Kind == groundtruth.EntitySubscription && init.Bracket.After >= from && init.Bracket.Before <= to
	})
}
