package oracle

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// scanned reports whether an entity that was complete then was found by the scan before the recording was open.
func (c *comparer) scanned(ready uint64) bool {
	return c.Found && ready != 0 && ready < c.span.OpenFrom
}

// stampSource is whose messages have timestamps, on one thread.
type stampSource struct {
	thread         *threadTruth
	address, since uint64
	scanned        bool
}

func (c *comparer) subscriptionSource(thread *threadTruth, rmwHandle uint64, take groundtruth.Bracket) stampSource {
	s, _ := c.rmwSubscriptions.at(rmwHandle, take.Before)
	return stampSource{address: rmwHandle, since: s.since, scanned: c.scanned(s.ready) && c.sawBegin(thread, take)}
}

// sawBegin reports whether a take cannot have been under way when the recording began. Of one that was it is not known
// what kind of message it takes, nor where its message info is.
func (c *comparer) sawBegin(thread *threadTruth, take groundtruth.Bracket) bool {
	return c.span.holds(groundtruth.Bracket{Before: max(thread.hitBefore(take.Before), 1), After: take.After}) == present
}

// mayHideForm reports whether a publish may have been under way when the recording began, or is the first thing that
// was seen of a thread that may have begun before. Of such a one it is not known what was handed to rcl.
func (c *comparer) mayHideForm(thread *threadTruth, publish *publishTruth) bool {
	begin := publish.begin()
	if publish.raw != nil {
		begin = min(begin, publish.raw.Bracket.Before)
	}
	return thread.hitBefore(begin) < c.span.OpenTo
}

func (c *comparer) publisherSource(thread *threadTruth, publish *publishTruth) stampSource {
	p, _ := c.publishers.at(publish.Publisher, publish.begin())
	return stampSource{address: publish.Publisher, since: p.since, scanned: c.scanned(p.ready) && !c.mayHideForm(thread, publish)}
}

// traces reports whether the middleware has a tracepoint for a take.
func (c *comparer) traces(take *takeTruth) bool {
	switch {
	case take.raw == nil:
		return true
	case take.raw.Kind == groundtruth.RawLoaned:
		return c.truth.Header.RMW == standin.CycloneDDS
	}
	return c.truth.Header.Distro != standin.Humble
}

// checkKind compares the form of a message.
func (c *comparer) checkKind(what, got string, allowed []string) {
	if !slices.Contains(allowed, got) {
		c.differ("%s: kind %q, not one of %q", what, got, allowed)
	}
	c.Kinds[got]++
}

func texts[S ~string](values []S) []string {
	var result []string
	for _, value := range values {
		result = append(result, string(value))
	}
	return result
}

// checkMessageTimestamp compares header.stamp. The recorder sees it from when it knows the type of the messages: from
// the beginning, where a scan has told it, and never less afterwards.
func (c *comparer) checkMessageTimestamp(what string, thread *threadTruth, got trace.Optional[int64], stamp int64, source stampSource) {
	source.thread = thread
	switch {
	case stamp == 0:
		equal(c, what+": message timestamp of a message without a header", got, trace.Optional[int64]{})
	case got.Valid || source.scanned && !c.Unnamed || c.stamped[source]:
		equal(c, what+": message timestamp", got, trace.Some(stamp))
		c.stamped[source] = true
		c.Stamps++
	}
}

// checkPublisherGID compares the gid that the message info of a take has. Cyclone DDS gives a handle of the own process
// in its place, which is no gid.
func (c *comparer) checkPublisherGID(what string, thread *threadTruth, got, gid string, take groundtruth.Bracket) {
	if c.truth.Header.RMW == standin.CycloneDDS {
		gid = ""
	}
	if got != "" || c.sawBegin(thread, take) {
		equal(c, what+": publisher gid", got, gid)
	}
}

// firstIsExact reports whether the first message that a publish put into a buffer was still there when that was
// recorded, and known to be its.
func (c *comparer) firstIsExact(thread *threadTruth, publish *publishTruth, message trace.Address) bool {
	if !c.derivesBufferEvents() || len(publish.enqueues) == 0 {
		return true
	}
	first := publish.enqueues[0]
	if message == 0 && c.mayBeUncertain(first.Buffer, first.observable.After) {
		return false
	}
	return !c.truth.disturbed(first.Buffer, thread, first.Bracket.Before, first.observable.After)
}
