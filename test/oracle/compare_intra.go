package oracle

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// derivesBufferEvents reports whether the distribution has no tracepoints of intra-process communication, so that they
// are concluded from other functions. Those come a moment after the operations of buffers: when another thread has used
// a buffer in between, its state is not exact.
func (c *comparer) derivesBufferEvents() bool { return c.truth.Header.Distro == standin.Humble }

// exactly reports whether the state of a buffer is the same from an operation until the recorder has seen it.
func (c *comparer) exactly(buffer uint64, thread *threadTruth, operation, seen uint64) bool {
	return !c.derivesBufferEvents() || !c.truth.disturbed(buffer, thread, operation, seen)
}

// checkProvenance compares what a row says of where it is from; untraced says that it has a part for which Humble has
// no tracepoint.
func (c *comparer) checkProvenance(what string, got trace.Provenance, untraced bool) {
	want := trace.FromTracepoint
	if untraced && c.derivesBufferEvents() {
		want = trace.Derived
	}
	equal(c, what+": provenance", got, want)
}

// checkDequeue compares the dequeue that fed an intra-process callback.
func (c *comparer) checkDequeue(what string, thread *threadTruth, rows *threadRows, row *trace.Callback, e *execution) {
	if e.fed == nil {
		c.checkNoBuffer(what, row.Buffer, row.DequeueIndex, row.DequeueSize)
		c.checkNoTime(what+": dequeue", row.DequeueTimestamp)
		equal(c, what+": message", uint64(row.Message), 0)
		return
	}
	apart := !row.DequeueTimestamp.Valid && !c.knowsOwner(e) && c.compareFreeDequeue(thread, rows, e.fed)
	if apart || !row.DequeueTimestamp.Valid && c.mayStayUnseen(thread, e.fed) || !c.expects(what+": dequeue", row.DequeueTimestamp.Valid, e.fed.observable) {
		c.checkNoBuffer(what, row.Buffer, row.DequeueIndex, row.DequeueSize)
		equal(c, what+": message", uint64(row.Message), 0)
		return
	}
	c.checkTime(what+": dequeue", row.DequeueTimestamp, e.fed.observable)
	c.checkBuffer(what, thread, e.fed, row.Buffer, row.Message, row.DequeueIndex, row.DequeueSize)
}

// mayStayUnseen reports whether nothing that was recorded before a dequeue tells which buffer it is of.
func (c *comparer) mayStayUnseen(thread *threadTruth, dequeue *dequeueTruth) bool {
	return dequeue.concluded && !slices.ContainsFunc(c.truth.operations[dequeue.Buffer], func(o operation) bool {
		return o.enqueue && o.thread == thread && o.needed.Before > c.span.OpenTo && o.needed.After <= dequeue.Bracket.Before
	})
}

// checkBuffer compares what a dequeue says of its buffer and, where that is derived, of the message.
func (c *comparer) checkBuffer(
	what string, thread *threadTruth, dequeue *dequeueTruth, buffer, message trace.Address, index, size trace.Optional[uint64],
) {
	equal(c, what+": buffer", uint64(buffer), dequeue.Buffer)
	if index.Valid || !c.mayBeUncertain(dequeue.Buffer, dequeue.observable.After) {
		equal(c, what+": index", index, trace.Some(dequeue.Index))
	}
	if c.exactly(dequeue.Buffer, thread, dequeue.Bracket.Before, dequeue.observable.After) {
		equal(c, what+": size", size, trace.Some(dequeue.Size))
	}
	wanted := uint64(0)
	if c.derivesBufferEvents() && !dequeue.concluded {
		wanted = dequeue.Message
	}
	equal(c, what+": message", uint64(message), wanted)
}

func (c *comparer) checkNoBuffer(what string, buffer trace.Address, index, size trace.Optional[uint64]) {
	equal(c, what+": buffer", uint64(buffer), 0)
	equal(c, what+": index", index, trace.Optional[uint64]{})
	equal(c, what+": size", size, trace.Optional[uint64]{})
}

func (c *comparer) compareEnqueue(thread *threadTruth, rows *threadRows, enqueue *enqueueTruth) {
	what := describe(enqueue.TID, "enqueue", enqueue.Bracket)
	row := one(c, what, rows.enqueues, enqueue.observable)
	if p := enqueue.publish; p != nil && c.Filter.drops(c.nodeOf(p), p.Topic) {
		if row != nil {
			c.differ("%s: is filtered out", what)
		}
		return
	}
	if row == nil {
		c.lack(trace.LostEnqueue, what, c.span.holds(enqueue.needed))
		return
	}
	equal(c, what+": buffer", uint64(row.Buffer), enqueue.Buffer)
	c.checkProvenance(what, row.Provenance, true)
	c.checkRing(what, thread, row, enqueue)
	c.Compared[trace.LostEnqueue]++
	publish := enqueue.publish
	if publish == nil {
		return
	}
	c.checkEnclosing(what, publish.in, row.Callback, row.CallbackStartTimestamp)
	if !c.expects(what+": publish", row.PublishNumber.Valid, publish.Intra) {
		return
	}
	number, recorded := c.numbers[publish]
	if !recorded {
		c.differ("%s: of a publish that is not in the recording", what)
	}
	equal(c, what+": publish number", row.PublishNumber.Value, number)
	equal(c, what+": publisher", uint64(row.PublisherHandle), publish.Publisher)
	equalName(c, c.toldPublisher(publish), what+": topic", row.TopicName, publish.Topic)
}

// checkRing compares the state of the ring buffer after an enqueue. The tracepoint's size counts the message that was
// dropped, the dataset's does not.
func (c *comparer) checkRing(what string, thread *threadTruth, row *trace.Enqueue, enqueue *enqueueTruth) {
	recorded := c.onClock(row.EnqueueTimestamp)
	if row.Index.Valid || !c.mayBeUncertain(enqueue.Buffer, enqueue.observable.After) {
		equal(c, what+": index", row.Index, trace.Some(enqueue.Index))
	}
	if !c.exactly(enqueue.Buffer, thread, enqueue.Bracket.Before, enqueue.observable.After) {
		return
	}
	size := enqueue.Size
	if enqueue.Overwritten {
		size--
	}
	equal(c, what+": size", row.Size, size)
	known, settled := c.historyOf(thread, enqueue, recorded)
	if !settled || !known && !row.Overwritten.Valid && size == c.capacityOf(enqueue.Buffer, recorded) {
		return
	}
	if !row.Overwritten.Valid && !row.Index.Valid && c.mayBeUncertain(enqueue.Buffer, enqueue.observable.After) {
		return // what is not known of the slot is not known of what was in it
	}
	equal(c, what+": overwritten", row.Overwritten, trace.Some(enqueue.Overwritten))
}

// mayBeUncertain reports whether the recorder may be unable to tell which slot of a buffer an operation used that it
// saw by an instant.
func (c *comparer) mayBeUncertain(buffer, seen uint64) bool {
	if !c.derivesBufferEvents() {
		return false
	}
	operations := c.truth.operations[buffer]
	known := false
	for i, o := range operations {
		if o.bracket.Before >= seen {
			break
		}
		if c.overlaps(buffer, o.thread, o.bracket.Before, o.needed.After) {
			return true // and what follows, until the operations that were seen are as many as there were
		}
		known = known && !c.truth.createdBetween(operations[i-1].bracket.Before, o.needed.After) || o.enqueue && c.span.holds(o.needed) == present
	}
	return !known || c.capacityOf(buffer, seen) == 1
}

// historyOf reports whether the recorder knows what was in a buffer before an enqueue, and whether it knows it in time:
// a derived operation of another thread may be seen only afterwards, and one that began before the last operation may
// be noted after it.
func (c *comparer) historyOf(thread *threadTruth, enqueue *enqueueTruth, recorded uint64) (known, settled bool) {
	if !c.derivesBufferEvents() {
		return true, true
	}
	last, ok := c.truth.before(enqueue.Buffer, enqueue.Bracket.Before)
	if !ok || c.truth.createdBetween(last.bracket.Before, recorded) {
		return false, true
	}
	overlaps := c.overlaps(enqueue.Buffer, thread, enqueue.Bracket.Before, enqueue.observable.After) ||
		c.overlaps(enqueue.Buffer, last.thread, last.bracket.Before, last.needed.After)
	return c.span.holds(last.needed) == present, !overlaps
}

// overlaps reports whether other threads than one used a buffer within an interval.
func (c *comparer) overlaps(buffer uint64, thread *threadTruth, begin, end uint64) bool {
	return slices.ContainsFunc(c.truth.operations[buffer], func(o operation) bool {
		return o.thread != thread && o.bracket.Before < end && o.needed.After > begin
	})
}

// capacityOf returns how many messages a buffer holds.
func (c *comparer) capacityOf(buffer, at uint64) uint64 {
	capacity, latest := uint64(0), uint64(0)
	for _, s := range c.truth.Subscriptions {
		if s.Buffer == buffer && s.Time <= at && s.Time >= latest {
			capacity, latest = s.Depth, s.Time
		}
	}
	return capacity
}

// compareDequeue compares a dequeue with the row that it has when it fed no callback.
func (c *comparer) compareDequeue(thread *threadTruth, rows *threadRows, dequeue *dequeueTruth) {
	if _, seen := c.seen[dequeue.feeds]; seen {
		return
	}
	if !c.compareFreeDequeue(thread, rows, dequeue) && !c.Killed {
		c.lack(trace.LostTake, describe(dequeue.TID, "dequeue", dequeue.Bracket), c.span.holds(dequeue.observable))
	}
}

// compareFreeDequeue compares the row of a dequeue that is not a part of its callback's. It reports whether there is
// one.
func (c *comparer) compareFreeDequeue(thread *threadTruth, rows *threadRows, dequeue *dequeueTruth) bool {
	what := describe(dequeue.TID, "dequeue", dequeue.Bracket)
	row := one(c, what, rows.takes, dequeue.observable)
	if row == nil {
		return false
	}
	c.checkProvenance(what, row.Provenance, true)
	if row.Kind != trace.TakeUnattributed || dequeue.feeds == nil {
		equal(c, what+": kind", row.Kind, trace.TakeDequeue)
	}
	equal(c, what+": rmw subscription", uint64(row.RMWSubscriptionHandle), 0)
	equal(c, what+": source timestamp", row.SourceTimestamp, trace.Optional[int64]{})
	equal(c, what+": publisher gid", row.PublisherGID, "")
	equal(c, what+": message timestamp", row.MessageTimestamp, trace.Optional[int64]{})
	c.checkBuffer(what, thread, dequeue, row.Buffer, row.Message, row.DequeueIndex, row.DequeueSize)
	c.Compared[trace.LostTake]++
	return true
}
