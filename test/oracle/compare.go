package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Span says when a process was recorded, on the ground truth's clock (CLOCK_MONOTONIC). The recording began between
// OpenFrom and OpenTo and ended between CloseFrom and CloseTo; what happened in these two intervals may be recorded or
// not.
type Span struct{ OpenFrom, OpenTo, CloseFrom, CloseTo uint64 }

// presence says whether something was recorded.
type presence int

const (
	absent presence = iota
	possible
	present
)

func (s Span) holds(b groundtruth.Bracket) presence {
	switch {
	case !b.Happened() || b.After < s.OpenFrom || b.Before > s.CloseTo:
		return absent
	case b.Before >= s.OpenTo && b.After <= s.CloseFrom:
		return present
	}
	return possible
}

// Comparison is what a recording and the ground truth of one process have in common, and what not.
type Comparison struct {
	// Differences are what neither the span nor losses explain: rows with wrong values, rows of nothing that happened,
	// rows that come in the wrong order. Every one is an error.
	Differences []string
	// Missing counts what happened within the span and has no row. It must equal the losses of that kind.
	Missing map[trace.LossKind]uint64
	// Doubtful counts what has no row and happened when the recording may not have begun yet, or may have been over. It
	// may be among the losses of that kind.
	Doubtful map[trace.LossKind]uint64
	// Compared counts the rows that an event of the ground truth belongs to.
	Compared map[trace.LossKind]uint64
	// Stamps counts the timestamps in the headers of messages.
	Stamps int
	// Transitions counts the steps of life cycles.
	Transitions int
	// Kinds counts the publishes and takes by their form.
	Kinds map[string]int
	// Statuses counts the callbacks and publishes among them by status.
	Statuses map[string]uint64
	// Examples describes the first of what is missing.
	Examples []string
}

// maxExamples bounds the texts: a systematic error has thousands.
const maxExamples = 20

func (c *Comparison) differ(format string, arguments ...any) {
	if len(c.Differences) < maxExamples {
		c.Differences = append(c.Differences, fmt.Sprintf(format, arguments...))
	}
}

// lack notes that something has no row which would have one if it was recorded.
func (c *Comparison) lack(kind trace.LossKind, what string, recorded presence) {
	switch recorded {
	case present:
		c.miss(kind, what)
	case possible:
		c.Doubtful[kind]++
	}
}

func (c *Comparison) miss(kind trace.LossKind, what string) {
	c.Missing[kind]++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, what)
	}
}

// comparer compares the rows of one process with its ground truth.
type comparer struct {
	*Comparison
	truth  *Truth
	span   Span
	offset int64 // what the dataset's clock is ahead of the ground truth's
	rows   map[int32]*threadRows
	population
	// seen are the executions whose callback_start was recorded, with its time; 0 where their row was lost.
	seen map[*execution]uint64
	// numbers are the publish numbers of the recorded publishes.
	numbers map[*publishTruth]uint64
	// waits: the recording is to have the waits for work.
	waits bool
	// exited: the process ended while it was recorded.
	exited bool
	// stamped are the publishers and rmw subscriptions, by thread and beginning of their life, whose messages have had a
	// timestamp.
	stamped map[stampSource]bool
	Circumstances
}

// Circumstances are what a comparison must know of the process.
type Circumstances struct {
	// Found: the process was there before the recording, and its memory was scanned for its entities before the recording
	// was open.
	Found bool
	// Unnamed: initialization events were lost, or memory tells too late, so any name may be unknown. None may be wrong.
	Unnamed bool
	// Evicted: the strings that initialization events show are not resident. Labels of transitions are nowhere else.
	Evicted bool
	// Killed: the process could not write down the last of what happened.
	Killed bool
	// Torn: the recorder was killed, so that each table ends at another instant.
	Torn bool
	// Unarmed: rows say that files were mapped and not probed for a time, which the span leaves out.
	Unarmed bool
	// Part: the dataset has a part of a recording, in which publishes were counted before.
	Part bool
	// Filter says what must not be recorded; the zero one lets everything pass.
	Filter NameFilter
}

// NameFilter says of which nodes and topics there must be no rows; both may be nil. What has no topic passes
// DropsTopic.
type NameFilter struct{ DropsNode, DropsTopic func(name string) bool }

func (f NameFilter) drops(node, topic string) bool {
	return f.DropsNode != nil && f.DropsNode(node) || f.DropsTopic != nil && topic != "" && f.DropsTopic(topic)
}

func compare(t *Truth, data *Dataset, s Span, known Circumstances) *Comparison {
	c := &comparer{
		Comparison: &Comparison{
			Missing: map[trace.LossKind]uint64{}, Doubtful: map[trace.LossKind]uint64{}, Compared: map[trace.LossKind]uint64{},
			Statuses: map[string]uint64{}, Kinds: map[string]int{},
		},
		truth: t, span: s, offset: data.Session.Clock.RealtimeOffset, rows: map[int32]*threadRows{}, population: t.population(),
		seen: map[*execution]uint64{}, numbers: map[*publishTruth]uint64{}, stamped: map[stampSource]bool{}, Circumstances: known,
		waits: observes(data.Session, "wait"),
	}
	for _, process := range data.Processes {
		c.exited = c.exited || int(process.PID) == t.Header.PID && process.Exited
	}
	c.index(data)
	for _, thread := range t.threads {
		c.compareThread(thread)
	}
	c.checkUnclaimed()
	return c.Comparison
}

// stampIsRMW reports whether rmw_publish carries the source timestamp.
func (c *comparer) stampIsRMW() bool { return c.truth.Header.Distro != "humble" }

// onClock converts an instant of the dataset to the ground truth's clock.
func (c *comparer) onClock(at int64) uint64 { return uint64(at - c.offset) }

func (c *comparer) compareThread(thread *threadTruth) {
	rows := c.rows[thread.tid]
	if rows == nil {
		rows = &threadRows{}
	}
	defer func(whole Span) { c.span = whole }(c.span)
	if !c.Torn {
		// What a thread has recorded shows that the recording was not over before.
		c.span.CloseFrom = max(c.span.CloseFrom, c.lastHit(rows))
	}
	hits := thread.hits()
	for _, e := range thread.executions {
		c.compareCallback(thread, hits, rows, e)
	}
	number := uint64(0)
	for _, publish := range thread.publishes {
		c.comparePublish(thread, hits, rows, publish, &number)
	}
	for _, enqueue := range thread.enqueues {
		c.compareEnqueue(thread, rows, enqueue)
	}
	for _, take := range thread.takes {
		if !c.compareTake(thread, rows, take) && !c.dropsTake(take) {
			c.lack(trace.LostTake, describe(take.TID, "take", take.Bracket), c.span.holds(take.needed(c.traces(take))))
		}
	}
	for _, dequeue := range thread.dequeues {
		c.compareDequeue(thread, rows, dequeue)
	}
	for _, step := range thread.steps {
		c.compareStep(rows, step)
	}
	for _, e := range thread.executions {
		if _, seen := c.seen[e]; e.Take.Happened() && !seen {
			// The callback that it fed began when the recording was over: nothing tells that it did.
			c.compareTake(thread, rows, &e.take)
		}
	}
	for _, event := range thread.instants {
		event.kind.compare(c, thread.tid, event, rows.instants[event.kind])
	}
}

func describe(tid int, what string, at groundtruth.Bracket) string {
	return fmt.Sprintf("%s of thread %d at %d", what, tid, at.Before)
}

// enclosing counts the recorded executions that were open, and returns the innermost of them if its depth was recorded.
func (c *comparer) enclosing(innermost *execution) (depth int, in *execution) {
	for e := innermost; e != nil; e = e.parent {
		if _, ok := c.seen[e]; ok || c.isRemoved(e) {
			if in == nil {
				in = e
			}
			depth++
		}
	}
	if depth > abi.MaxDepth {
		return abi.MaxDepth, nil
	}
	return depth, in
}

// isRemoved reports whether the row of an execution may be gone, of which other rows told before.
func (c *comparer) isRemoved(e *execution) bool {
	return c.Part && e.Start.Before >= c.span.OpenFrom && e.Start.After <= c.span.OpenTo
}

// checkEnclosing compares a row's reference to the callback that it happened in.
func (c *comparer) checkEnclosing(what string, innermost *execution, callback trace.Address, start trace.Optional[int64]) {
	_, in := c.enclosing(innermost)
	if in == nil {
		equal(c, what+": enclosing callback", uint64(callback), 0)
		c.checkNoTime(what+": start of the enclosing callback", start)
		return
	}
	equal(c, what+": enclosing callback", uint64(callback), in.Callback.Callback)
	c.checkTime(what+": start of the enclosing callback", start, in.Start)
	if c.seen[in] != 0 && start.Valid {
		equal(c, what+": start of the enclosing callback", c.onClock(start.Value), c.seen[in])
	}
}

// checkTime requires an instant within a bracket.
func (c *comparer) checkTime(what string, at trace.Optional[int64], b groundtruth.Bracket) {
	if !at.Valid {
		c.differ("%s: no time", what)
	} else if !b.Contains(c.onClock(at.Value)) {
		c.differ("%s: at %d, not within [%d, %d]", what, c.onClock(at.Value), b.Before, b.After)
	}
}

func (c *comparer) checkNoTime(what string, at trace.Optional[int64]) {
	if at.Valid {
		c.differ("%s: has a time", what)
	}
}

func equal[T comparable](c *comparer, what string, got, want T) {
	if got != want {
		c.differ("%s: %v, not %v", what, got, want)
	}
}

// equalName is equal for what initialization events or memory tell of entities; told says that they have.
func equalName[T comparable](c *comparer, told bool, what string, got, want T) {
	var unknown T
	if got != unknown || told {
		equal(c, what, got, want)
	}
}

// told reports whether all names of an entity are known: a scan has found it, or its initialization was recorded. Those
// that began in between, while probes were attached, may have gone before anybody looks.
func told[T any](c *comparer, entity life[T], nodeHandle uint64) bool {
	node, _ := c.nodes.at(nodeHandle, entity.ready)
	return !c.Unnamed && c.isTold(entity.since, entity.ready) && c.isTold(node.since, node.ready)
}

func (c *comparer) isTold(since, ready uint64) bool {
	return !c.Found || ready == 0 || c.scanned(ready) || since >= c.span.OpenTo // 0: there is none
}

// expects compares whether a part of a row is there with whether it should be, and returns whether it should.
func (c *comparer) expects(what string, got bool, b groundtruth.Bracket) bool {
	switch p := c.span.holds(b); {
	case p == present && !got:
		c.differ("%s: is missing", what)
	case p == absent && got:
		c.differ("%s: was not in the recording", what)
	}
	return got
}

func (c *comparer) compareCallback(thread *threadTruth, hits []groundtruth.Bracket, rows *threadRows, e *execution) {
	what := describe(e.TID, fmt.Sprintf("callback %#x (%s, %s)", e.Callback.Callback, e.Kind, e.Outcome), e.Start)
	depth, _ := c.enclosing(e.parent)
	started := c.span.holds(e.Start)
	row := one(c, what, rows.started, e.Start)
	if names, _ := c.callbacks.at(e.Callback.Callback, e.Start.Before); c.Filter.drops(names.entity.node, names.entity.topic) {
		if row != nil || one(c, what, rows.orphaned, e.End) != nil {
			c.differ("%s: is filtered out", what)
		}
		if started == present {
			c.seen[e] = 0
		}
		return
	}
	if row == nil {
		c.compareEnd(what, rows, e, depth, started)
		return
	}
	if started == absent {
		c.differ("%s: was not in the recording", what)
	}
	if depth >= abi.MaxDepth {
		c.differ("%s: is too deep to be recorded", what)
	}
	equal(c, what+": depth", int(row.Depth), depth)
	c.checkEnclosing(what, e.parent, row.ParentCallback, row.ParentCallbackStartTimestamp)
	c.seen[e] = c.onClock(row.CallbackStartTimestamp.Value)
	c.checkCallbackNames(what, row, e)
	c.checkCallbackEnd(what, thread, hits, row, e)
	c.Compared[trace.LostCallback]++
	c.Statuses[string(row.Status)]++
	if e.unfinished {
		return
	}
	c.checkCPUs(what, row, e.CPU, e.EndCPU)
	equal(c, what+": intra-process", row.IsIntraProcess, trace.Some(e.Kind == groundtruth.KindIntraSubscription))
	if e.Take.Happened() {
		c.checkTake(what, thread, rows, row, e)
	} else {
		c.checkNoTake(what, row)
		c.checkDequeue(what, thread, rows, row, e)
	}
}

// compareEnd compares an execution of which no start was recorded.
func (c *comparer) compareEnd(what string, rows *threadRows, e *execution, depth int, started presence) {
	row := one(c, what, rows.orphaned, e.End)
	if c.Torn && started == possible && e.Start.Before >= c.span.OpenTo {
		// Its row, which comes at its end, is after the last that was written. Rows that came before may tell of it.
		c.seen[e] = 0
	}
	if started == present {
		// It was there, whatever became of its row.
		c.seen[e] = 0
		c.miss(trace.LostCallback, what)
		if row != nil {
			c.differ("%s: only its end was recorded", what)
		}
		return
	}
	if row == nil {
		// An end that is derived says nothing without its start.
		derived := e.isGeneric() && c.derivesBufferEvents()
		if started == absent && c.span.holds(e.End) == present && !derived {
			c.miss(trace.LostCallback, what+", which ended in the recording")
		}
		if started == possible {
			c.Doubtful[trace.LostCallback]++
		}
		return
	}
	equal(c, what+": status", row.Status, trace.CallbackStartMissing)
	equal(c, what+": depth", int(row.Depth), depth)
	c.checkCPUs(what, row, e.EndCPU, e.EndCPU)
	c.checkCallbackNames(what, row, e)
	c.Compared[trace.LostCallback]++
	c.Statuses[string(row.Status)]++
}

// checkCPUs compares where the callback was seen first, and where at its end; -1: it could be anywhere.
func (c *comparer) checkCPUs(what string, row *trace.Callback, first, end int32) {
	if first >= 0 {
		equal(c, what+": CPU", row.CPU, first)
	}
	equal(c, what+": whether the CPU at the end is known", row.EndCPU.Valid, row.CallbackEndTimestamp.Valid)
	if end >= 0 && row.EndCPU.Valid {
		equal(c, what+": CPU at the end", row.EndCPU.Value, end)
	}
}

// checkCallbackNames compares what every row of a callback has.
func (c *comparer) checkCallbackNames(what string, row *trace.Callback, e *execution) {
	if problem := CheckParts(row); problem != "" {
		c.differ("%s: %s", what, problem)
	}
	equal(c, what+": address", uint64(row.Callback), e.Callback.Callback)
	if endedByExecutor(row, e) {
		equal(c, what+": provenance", row.Provenance, trace.Derived)
	} else {
		c.checkProvenance(what, row.Provenance, row.DequeueTimestamp.Valid || e.isGeneric())
	}
	alive, known := c.callbacks.at(e.Callback.Callback, e.Start.Before)
	if !known {
		c.differ("%s: the ground truth has no such callback", what)
		return
	}
	names := alive.entity
	told := told(c, alive, names.nodeHandle)
	equalName(c, told, what+": kind", row.Kind, names.kind)
	equalName(c, told, what+": topic", row.TopicName, names.topic)
	equalName(c, told, what+": node", row.NodeName, names.node)
	equalName(c, told, what+": subscription", uint64(row.SubscriptionHandle), names.subscription)
	equalName(c, told, what+": period", row.Period, names.period)
}

// exits reports whether the thread exited, as far as the recording can know.
func (c *comparer) exits(thread *threadTruth) bool {
	return c.exited || thread.exit != 0 && thread.exit <= c.span.CloseTo
}

// closedByHit reports whether a later hit on the thread, in the recording, closes what is open.
func (c *comparer) closedByHit(hits []groundtruth.Bracket, after uint64) bool {
	return c.span.holds(nextHit(hits, after)) == present
}

// leftOpen reports whether a callback was over without a callback_end, and its thread went on.
func leftOpen(e *execution) bool {
	return e.Outcome == groundtruth.OutcomeThrew || e.Outcome == groundtruth.OutcomeDeferred
}

// endedByExecutor reports whether the row says that a callback which deferred its response ended where the executor
// went on.
func endedByExecutor(row *trace.Callback, e *execution) bool {
	return e.Outcome == groundtruth.OutcomeDeferred && row.Status == trace.CallbackComplete
}

// checkExecutorWentOn compares such an end: after the callback had returned, before anything else happened on the
// thread.
func (c *comparer) checkExecutorWentOn(what string, row *trace.Callback, hits []groundtruth.Bracket, e *execution) {
	end := groundtruth.Bracket{Before: e.Left, After: nextHit(hits, e.Left).After}
	if end.After == 0 {
		end.After = c.span.CloseTo
	}
	c.checkTime(what+": end", row.CallbackEndTimestamp, end)
}

func (c *comparer) checkCallbackEnd(what string, thread *threadTruth, hits []groundtruth.Bracket, row *trace.Callback, e *execution) {
	var allowed []trace.CallbackStatus
	ended := c.span.holds(e.End)
	switch {
	case e.unfinished:
		allowed = append(allowed, trace.CallbackComplete, trace.CallbackThreadExit, trace.CallbackRecordingEnd)
	case e.Outcome == groundtruth.OutcomeReturned && ended == present:
		allowed = append(allowed, trace.CallbackComplete)
	case e.Outcome == groundtruth.OutcomeReturned && ended == possible:
		allowed = append(allowed, trace.CallbackComplete, trace.CallbackRecordingEnd)
	case e.Outcome == groundtruth.OutcomeDeferred && c.closedByHit(hits, e.Left):
		allowed = append(allowed, trace.CallbackComplete)
	case leftOpen(e) && c.closedByHit(hits, e.Left):
		allowed = append(allowed, trace.CallbackUnwound)
	case leftOpen(e):
		// The executor's next step closes it too, and of that the ground truth says nothing.
		allowed = append(allowed, trace.CallbackUnwound, trace.CallbackRecordingEnd)
		if e.Outcome == groundtruth.OutcomeDeferred {
			allowed = append(allowed, trace.CallbackComplete)
		}
		if c.exits(thread) {
			allowed = append(allowed, trace.CallbackThreadExit)
		}
	case e.Outcome == groundtruth.OutcomeExited && c.exits(thread):
		allowed = append(allowed, trace.CallbackThreadExit)
		if thread.exit > c.span.CloseFrom {
			allowed = append(allowed, trace.CallbackRecordingEnd)
		}
	default:
		allowed = append(allowed, trace.CallbackRecordingEnd)
	}
	if !slices.Contains(allowed, row.Status) {
		c.differ("%s: status %s, not one of %s", what, row.Status, allowed)
		return
	}
	if endedByExecutor(row, e) {
		c.checkExecutorWentOn(what, row, hits, e)
	} else if row.Status != trace.CallbackComplete {
		c.checkNoTime(what+": end", row.CallbackEndTimestamp)
	} else if !e.unfinished {
		c.checkTime(what+": end", row.CallbackEndTimestamp, e.End)
	}
}

// checkTake compares the take that fed a callback.
func (c *comparer) checkTake(what string, thread *threadTruth, rows *threadRows, row *trace.Callback, e *execution) {
	c.checkNoBuffer(what, row.Buffer, row.DequeueIndex, row.DequeueSize)
	c.checkNoTime(what+": dequeue", row.DequeueTimestamp)
	apart := !row.RMWTakeTimestamp.Valid && !c.knowsOwner(e) && c.compareTake(thread, rows, &e.take)
	if apart || !c.expects(what+": take", row.RMWTakeTimestamp.Valid, e.take.needed(c.traces(&e.take))) {
		c.checkNoTake(what, row)
		equal(c, what+": message", uint64(row.Message), 0)
		return
	}
	c.checkTime(what+": rmw_take", row.RMWTakeTimestamp, e.Take)
	equal(c, what+": rmw subscription", uint64(row.RMWSubscriptionHandle), e.RMWSubscription)
	equal(c, what+": message", uint64(row.Message), e.Message)
	equal(c, what+": source timestamp", row.SourceTimestamp, trace.Some(e.SourceTimestamp))
	c.checkPublisherGID(what, thread, row.PublisherGID, e.InfoGID, e.Take)
	c.checkMessageTimestamp(what, thread, row.MessageTimestamp, e.HeaderStamp, c.subscriptionSource(thread, e.RMWSubscription, e.Take))
}

func (c *comparer) checkNoTake(what string, row *trace.Callback) {
	equal(c, what+": rmw subscription", uint64(row.RMWSubscriptionHandle), 0)
	c.checkNoTime(what+": rmw_take", row.RMWTakeTimestamp)
	equal(c, what+": source timestamp", row.SourceTimestamp, trace.Optional[int64]{})
	equal(c, what+": publisher gid", row.PublisherGID, "")
	equal(c, what+": message timestamp", row.MessageTimestamp, trace.Optional[int64]{})
}

// observableLayers returns the tracepoints of a publish. Where rmw_publish carries the source timestamp, that is known
// before the write succeeds.
func (c *comparer) observableLayers(publish *publishTruth) [layerCount]groundtruth.Bracket {
	layers := publish.layers()
	if c.stampIsRMW() {
		layers[layerStamp] = layers[layerRMW]
	}
	if publish.raw != nil && c.span.holds(layers[layerRcl]) != present {
		layers[layerRcl].Before = publish.raw.Bracket.Before // when rcl's function was entered, which is all that may have been seen
	}
	return layers
}

func (c *comparer) comparePublish(thread *threadTruth, hits []groundtruth.Bracket, rows *threadRows, publish *publishTruth, number *uint64) {
	layers := c.observableLayers(publish)
	var whole groundtruth.Bracket
	recorded := absent
	for layer, b := range layers {
		if !b.Happened() {
			continue
		}
		if !whole.Happened() {
			whole.Before = b.Before
		}
		whole.After = max(whole.After, b.After)
		// The stamp alone is nothing: the DDS library also writes for itself.
		if layer != layerStamp {
			recorded = max(recorded, c.span.holds(b))
		}
	}
	what := describe(publish.TID, fmt.Sprintf("publish %d to %s", publish.Number, publish.Topic), whole)
	row := one(c, what, rows.publishes, whole)
	if row == nil && recorded != present {
		if !c.Filter.drops(c.nodeOf(publish), publish.Topic) {
			c.lack(trace.LostPublish, what, recorded)
		}
		return
	}
	if (c.Unarmed || c.Part) && row != nil && *number == 0 {
		*number = row.PublishNumber // those before, in the span that is left out, may have been seen in part
	}
	c.numbers[publish] = *number
	*number++
	if c.Filter.drops(c.nodeOf(publish), publish.Topic) {
		if row != nil {
			c.differ("%s: is filtered out", what)
		}
		return
	}
	if row == nil {
		c.lack(trace.LostPublish, what, recorded)
		return
	}
	equal(c, what+": number", row.PublishNumber, c.numbers[publish])
	observed := c.checkLayers(what, row, publish, layers)
	c.checkPublishFields(what, thread, row, publish, observed)
	c.checkPublishStatus(what, thread, hits, row, layers, whole)
	depth, _ := c.enclosing(publish.in)
	equal(c, what+": depth", int(row.Depth), depth)
	c.checkEnclosing(what, publish.in, row.Callback, row.CallbackStartTimestamp)
	c.Compared[trace.LostPublish]++
	c.Statuses["publish "+string(row.Status)]++
}

// nodeOf returns the name of a publish's node.
func (c *comparer) nodeOf(publish *publishTruth) string {
	return c.nodeOfPublisher(publish.Publisher, publish.begin())
}

func (c *comparer) toldPublisher(publish *publishTruth) bool {
	publisher, _ := c.publishers.at(publish.Publisher, publish.begin())
	return told(c, publisher, publisher.entity.Node)
}

// checkLayers compares the times of the layers and returns which ones the row has.
func (c *comparer) checkLayers(what string, row *trace.Publish, publish *publishTruth, layers [layerCount]groundtruth.Bracket) (observed [layerCount]bool) {
	for layer, at := range layersOf(row) {
		what, b := what+": "+layerNames[layer], layers[layer]
		if layer == layerStamp && !c.stampIsRMW() {
			if !observed[layerRcl] && !observed[layerRMW] {
				b = groundtruth.Bracket{} // nothing tells that the write belongs to a publish
			} else if !b.Happened() && observed[layerRMW] {
				continue // the write failed, which may have been after its timestamp was bound
			}
		}
		if observed[layer] = c.expects(what, at.Valid, b); at.Valid {
			c.checkTime(what, at, b)
		}
	}
	return observed
}

// A handle close above a thread's stack pointer is taken for a copy on the stack, of which only the rmw handle tells
// the publisher. An arena of malloc may begin there, at a multiple of its alignment.
const (
	arenaAlignment = 64 << 20
	callersStack   = 64 << 10 // bpf/src/publish_probes.h
)

func (c *comparer) checkPublishFields(what string, thread *threadTruth, row *trace.Publish, publish *publishTruth, observed [layerCount]bool) {
	c.checkProvenance(what, row.Provenance, row.RclcppIntraPublishTimestamp.Valid)
	handle, rmw, topic, node := uint64(0), uint64(0), "", ""
	if observed[layerIntra] || observed[layerRcl] || observed[layerRMW] && c.stampIsRMW() {
		handle, rmw, topic, node = publish.Publisher, publish.RMWPublisher, publish.Topic, c.nodeOf(publish)
	}
	if !observed[layerIntra] && !observed[layerRcl] && row.PublisherHandle == 0 {
		handle = 0 // the recording began after these layers, and the rmw publisher's may be the first that is seen of it
	}
	if row.PublisherHandle == 0 && c.Unnamed && handle%arenaAlignment < callersStack {
		handle = 0
	}
	equal(c, what+": publisher", uint64(row.PublisherHandle), handle)
	told := c.toldPublisher(publish)
	equalName(c, told, what+": rmw publisher", uint64(row.RMWPublisherHandle), rmw)
	equalName(c, told, what+": topic", row.TopicName, topic)
	equalName(c, told, what+": node", row.NodeName, node)
	message, intra := uint64(0), uint64(0)
	if observed[layerRclcpp] || observed[layerRcl] || observed[layerRMW] {
		message = publish.Message
	}
	if observed[layerIntra] {
		intra = publish.IntraMessage
	}
	equal(c, what+": message", uint64(row.Message), message)
	if !observed[layerIntra] || c.firstIsExact(thread, publish, row.IntraMessage) {
		equal(c, what+": intra-process message", uint64(row.IntraMessage), intra)
	}
	kinds := []trace.PublishKind{""}
	if observed[layerRcl] {
		kinds[0] = publish.kind()
		if c.mayHideForm(thread, publish) {
			kinds = append(kinds, "")
		}
	}
	c.checkKind(what, string(row.Kind), texts(kinds))
	if observed[layerRcl] || observed[layerIntra] && c.firstIsExact(thread, publish, row.IntraMessage) {
		c.checkMessageTimestamp(what, thread, row.MessageTimestamp, publish.HeaderStamp, c.publisherSource(thread, publish))
	} else if !observed[layerIntra] {
		equal(c, what+": message timestamp", row.MessageTimestamp, trace.Optional[int64]{})
	}
	if observed[layerStamp] {
		equal(c, what+": source timestamp", row.SourceTimestamp, trace.Some(publish.SourceTimestamp))
	}
	equal(c, what+": source timestamp without its event, or the reverse", row.SourceTimestamp.Valid, row.DDSBindAddrToStampTimestamp.Valid)
	atLeast, atMost := 0, 0
	for _, e := range publish.enqueues {
		if !observed[layerIntra] {
			break
		}
		switch c.span.holds(e.needed) {
		case present:
			atLeast++
			atMost++
		case possible:
			atMost++
		}
	}
	if n := int(row.EnqueueCount); n < atLeast || n > atMost {
		c.differ("%s: %d enqueues, not %d to %d", what, n, atLeast, atMost)
	}
}

func (c *comparer) checkPublishStatus(what string, thread *threadTruth, hits []groundtruth.Bracket, row *trace.Publish, layers [layerCount]groundtruth.Bracket, whole groundtruth.Bracket) {
	intraOnly := layers[layerIntra].Happened()
	for _, b := range layers[layerRclcpp:] {
		intraOnly = intraOnly && !b.Happened()
	}
	var allowed []trace.PublishStatus
	switch {
	case row.SourceTimestamp.Valid:
		allowed = append(allowed, trace.PublishComplete)
	case c.closedByHit(hits, whole.After) && c.span.holds(whole) == present:
		// Nothing was to come after the intra-process way; else it failed on the way.
		if intraOnly {
			allowed = append(allowed, trace.PublishComplete)
		} else {
			allowed = append(allowed, trace.PublishNoLastLayer)
		}
	default:
		allowed = append(allowed, trace.PublishNoLastLayer, trace.PublishRecordingEnd)
		if intraOnly {
			allowed = append(allowed, trace.PublishComplete)
		}
		if c.exits(thread) {
			allowed = append(allowed, trace.PublishThreadExit)
		}
	}
	if !slices.Contains(allowed, row.Status) {
		c.differ("%s: status %s, not one of %s", what, row.Status, allowed)
	}
}

// compareTake compares a take that fed no callback with its row and reports whether there is one.
func (c *comparer) compareTake(thread *threadTruth, rows *threadRows, take *takeTruth) bool {
	what := describe(take.TID, "take", take.Bracket)
	row := one(c, what, rows.takes, take.Bracket)
	if row == nil {
		return false
	}
	if c.dropsTake(take) {
		c.differ("%s: is filtered out", what)
	}
	c.checkKind(what, string(row.Kind), texts(c.takeKinds(thread, take)))
	c.checkProvenance(what, row.Provenance, false)
	equal(c, what+": rmw subscription", uint64(row.RMWSubscriptionHandle), take.RMWSubscription)
	equal(c, what+": message", uint64(row.Message), take.Message)
	equal(c, what+": source timestamp", row.SourceTimestamp, trace.Some(take.SourceTimestamp))
	c.checkNoBuffer(what, row.Buffer, row.DequeueIndex, row.DequeueSize)
	c.checkPublisherGID(what, thread, row.PublisherGID, take.InfoGID, take.Bracket)
	source := c.subscriptionSource(thread, take.RMWSubscription, take.Bracket)
	c.checkMessageTimestamp(what, thread, row.MessageTimestamp, take.HeaderStamp, source)
	c.checkEnclosing(what, take.in, row.Callback, row.CallbackStartTimestamp)
	if s, ok := c.rmwSubscriptions.at(take.RMWSubscription, take.Bracket.Before); ok {
		told := told(c, s, s.entity.Node)
		equalName(c, told, what+": topic", row.TopicName, s.entity.Topic)
		equalName(c, told, what+": node", row.NodeName, c.nodeName(s.entity.Node, take.Bracket.Before))
		equalName(c, told, what+": subscription", uint64(row.SubscriptionHandle), s.entity.Subscription)
	}
	c.Compared[trace.LostTake]++
	return true
}

// takeKinds returns what a row that stands for a take by itself may call it.
func (c *comparer) takeKinds(thread *threadTruth, take *takeTruth) []trace.TakeKind {
	if take.dropped {
		return []trace.TakeKind{trace.TakeIgnored, trace.TakeUnattributed} // the latter while nothing tells of the publisher
	}
	kinds := take.kinds(c.span)
	s, known := c.rmwSubscriptions.at(take.RMWSubscription, take.Bracket.Before)
	if take.feeds != nil || !known || !told(c, s, s.entity.Node) || c.isLast(thread, take.Bracket) {
		return append(kinds, trace.TakeUnattributed)
	}
	return kinds
}

// isLast reports whether nothing that is sure to be in the recording followed on the thread.
func (c *comparer) isLast(thread *threadTruth, b groundtruth.Bracket) bool {
	next := nextHit(thread.hits(), b.Before)
	return !next.Happened() || c.span.holds(next) != present
}

// knowsOwner reports whether a recorder must have known whose callback it is.
func (c *comparer) knowsOwner(e *execution) bool {
	callback, known := c.callbacks.at(e.Callback.Callback, e.Start.Before)
	return known && told(c, callback, callback.entity.nodeHandle)
}

func (c *comparer) dropsTake(take *takeTruth) bool {
	s, ok := c.rmwSubscriptions.at(take.RMWSubscription, take.Bracket.Before)
	return ok && c.Filter.drops(c.nodeName(s.entity.Node, take.Bracket.Before), s.entity.Topic)
}

// checkUnclaimed finds rows of what did not happen.
func (c *comparer) checkUnclaimed() {
	for _, tid := range slices.Sorted(maps.Keys(c.rows)) {
		written := c.writtenUntil(tid)
		rows := c.rows[tid]
		reportUnclaimed(c, tid, written, "callback", rows.started)
		reportUnclaimed(c, tid, written, "end of a callback", rows.orphaned)
		reportUnclaimed(c, tid, written, "publish", rows.publishes)
		reportUnclaimed(c, tid, written, "take", rows.takes)
		reportUnclaimed(c, tid, written, "enqueue", rows.enqueues)
		reportUnclaimed(c, tid, written, "service step", rows.services)
		for _, kind := range instantKinds {
			reportUnclaimed(c, tid, written, kind.name(), rows.instants[kind])
		}
	}
}

func reportUnclaimed[T any](c *comparer, tid int32, written uint64, kind string, rows []found[T]) {
	for _, row := range rows {
		if !row.claimed && (!c.Killed || row.at <= written) {
			c.differ("%s of thread %d at %d: nothing like that happened: %+v", kind, tid, row.at, *row.row)
		}
	}
}

// writtenUntil is the last instant of a thread that its process has written down.
func (c *comparer) writtenUntil(tid int32) uint64 {
	last := uint64(0)
	for _, thread := range c.truth.threads {
		if thread.tid != tid {
			continue
		}
		for _, hit := range thread.hits() {
			last = max(last, hit.After)
		}
	}
	return last
}

// threadRows are the rows of one thread id. All but orphaned are sorted by the instant by which they are found.
type threadRows struct {
	started   []found[trace.Callback] // by start
	orphaned  []found[trace.Callback] // by end: those without a start
	publishes []found[trace.Publish]  // by first layer
	takes     []found[trace.Take]
	enqueues  []found[trace.Enqueue]
	services  []found[trace.Service]
	instants  map[instantKind][]found[any]
}

// lastHit returns the last instant in the rows of a thread, 0 if there is none.
func (c *comparer) lastHit(rows *threadRows) uint64 {
	last := uint64(0)
	see := func(at trace.Optional[int64]) {
		if at.Valid {
			last = max(last, c.onClock(at.Value))
		}
	}
	for _, callbacks := range [][]found[trace.Callback]{rows.started, rows.orphaned} {
		for _, f := range callbacks {
			see(f.row.CallbackStartTimestamp)
			see(f.row.CallbackEndTimestamp)
		}
	}
	for _, f := range rows.publishes {
		for _, at := range layersOf(f.row) {
			see(at)
		}
	}
	for _, f := range rows.takes {
		last = max(last, f.at)
	}
	for _, f := range rows.enqueues {
		last = max(last, f.at)
	}
	for _, f := range rows.services {
		last = max(last, f.at)
	}
	for _, instants := range rows.instants {
		for _, f := range instants {
			last = max(last, f.at)
		}
	}
	return last
}

// found is a row, the instant by which it is found, and whether an event of the ground truth has claimed it.
type found[T any] struct {
	row     *T
	at      uint64
	claimed bool
}

// one claims the row within a bracket. There may be only one: the events of a thread follow each other.
func one[T any](c *comparer, what string, rows []found[T], b groundtruth.Bracket) *T {
	first, _ := slices.BinarySearchFunc(rows, b.Before, func(f found[T], at uint64) int { return cmp.Compare(f.at, at) })
	end := first
	for end < len(rows) && rows[end].at <= b.After {
		rows[end].claimed = true
		end++
	}
	switch end - first {
	case 0:
		return nil
	case 1:
	default:
		c.differ("%s: has %d rows", what, end-first)
	}
	return rows[first].row
}

// layersOf returns a publish row's times in the order of the layers.
func layersOf(row *trace.Publish) [layerCount]trace.Optional[int64] {
	return [layerCount]trace.Optional[int64]{
		row.RclcppIntraPublishTimestamp, row.RclcppPublishTimestamp, row.RclPublishTimestamp, row.RMWPublishTimestamp,
		row.DDSBindAddrToStampTimestamp,
	}
}

// index sorts the rows of the process by thread, and checks that they come in the order in which they were complete.
func (c *comparer) index(data *Dataset) {
	started, orphaned := indexer[trace.Callback]{c: c}, indexer[trace.Callback]{c: c}
	ended := indexer[trace.Callback]{c: c}
	for i := range data.Callbacks {
		row := &data.Callbacks[i]
		if rows := c.rowsOf(row.ProcessKey, row.TID); rows != nil {
			if row.CallbackStartTimestamp.Valid {
				started.add(&rows.started, row, row.CallbackStartTimestamp.Value)
			} else {
				orphaned.add(&rows.orphaned, row, row.CallbackEndTimestamp.Value)
			}
			if row.CallbackEndTimestamp.Valid {
				ended.inOrder("callback", row.TID, row.CallbackEndTimestamp.Value)
			}
		}
	}
	publishes := indexer[trace.Publish]{c: c}
	for i := range data.Publishes {
		row := &data.Publishes[i]
		if rows := c.rowsOf(row.ProcessKey, row.TID); rows != nil {
			layers := layersOf(row)
			first := slices.IndexFunc(layers[:], func(at trace.Optional[int64]) bool { return at.Valid })
			publishes.add(&rows.publishes, row, layers[max(first, 0)].Value)
			publishes.inOrder("publish", row.TID, layers[max(first, 0)].Value)
		}
	}
	takes := indexer[trace.Take]{c: c}
	for i := range data.Takes {
		row := &data.Takes[i]
		if rows := c.rowsOf(row.ProcessKey, row.TID); rows != nil {
			// One of the two is null, which reads as 0.
			takes.add(&rows.takes, row, row.RMWTakeTimestamp.Value+row.DequeueTimestamp.Value)
			takes.inOrder("take", row.TID, row.RMWTakeTimestamp.Value+row.DequeueTimestamp.Value)
		}
	}
	enqueues := indexer[trace.Enqueue]{c: c}
	for i := range data.Enqueues {
		row := &data.Enqueues[i]
		if rows := c.rowsOf(row.ProcessKey, row.TID); rows != nil {
			enqueues.add(&rows.enqueues, row, row.EnqueueTimestamp)
			enqueues.inOrder("enqueue", row.TID, row.EnqueueTimestamp)
		}
	}
	services := indexer[trace.Service]{c: c}
	for i := range data.Services {
		row := &data.Services[i]
		if rows := c.rowsOf(row.ProcessKey, row.TID); rows != nil {
			services.add(&rows.services, row, row.StepTimestamp)
			services.inOrder("service step", row.TID, row.StepTimestamp)
		}
	}
	for _, kind := range instantKinds {
		instants := indexer[any]{c: c}
		kind.recorded(data, func(process trace.ProcessKey, tid int32, at int64, row any) {
			if rows := c.rowsOf(process, tid); rows != nil {
				of := rows.instants[kind]
				instants.add(&of, &row, at)
				rows.instants[kind] = of
				instants.inOrder(kind.name(), tid, at)
			}
		})
	}
	for _, rows := range c.rows {
		for _, instants := range rows.instants {
			sortByTime(instants)
		}
		sortByTime(rows.services)
		sortByTime(rows.started)
		sortByTime(rows.orphaned)
		sortByTime(rows.publishes)
		sortByTime(rows.takes)
		sortByTime(rows.enqueues)
	}
}

// rowsOf returns where the rows of a thread go; nil for those of other processes.
func (c *comparer) rowsOf(key trace.ProcessKey, tid int32) *threadRows {
	if int(key.PID) != c.truth.Header.PID {
		return nil
	}
	if c.rows[tid] == nil {
		c.rows[tid] = &threadRows{instants: map[instantKind][]found[any]{}}
	}
	return c.rows[tid]
}

// indexer collects the rows of a table.
type indexer[T any] struct {
	c    *comparer
	last map[int32]int64
}

func (x *indexer[T]) add(to *[]found[T], row *T, at int64) {
	*to = append(*to, found[T]{row: row, at: x.c.onClock(at)})
}

func (x *indexer[T]) inOrder(kind string, tid int32, at int64) {
	if x.last == nil {
		x.last = map[int32]int64{}
	}
	if at < x.last[tid] {
		x.c.differ("%s of thread %d at %d: its row comes too late", kind, tid, x.c.onClock(at))
	}
	x.last[tid] = at
}

func sortByTime[T any](rows []found[T]) {
	slices.SortStableFunc(rows, func(a, b found[T]) int { return cmp.Compare(a.at, b.at) })
}
