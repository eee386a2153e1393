package programs

import (
	"cmp"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

func (c *comparer) comparePublishes() {
	for _, e := range c.truth.Publishes {
		what := describe("publish", e)
		var row *publishRow
		for _, candidate := range within(c.publishes[e.TID], e, func(r *publishRow) uint64 { return r.first }) {
			switch {
			case internalName.MatchString(candidate.TopicName):
			case row != nil:
				c.wrong("%s: has two rows, the second one of %s %s", what, candidate.NodeName, candidate.TopicName)
			default:
				row = candidate
			}
		}
		if row == nil {
			if c.recorded(e) {
				c.missing("%s", what)
			}
			continue
		}
		row.of = e
		c.Compared["publishes"]++
		atAnEdge := e.Start < c.Span.OpenTo || row.Status == trace.PublishRecordingEnd && e.End > c.Span.CloseFrom
		if atAnEdge && row.NodeName == "" && row.TopicName == "" && row.PublisherHandle == 0 {
			c.Compared["publishes at the edges"]++ // the layers that tell were before the recording, or after it
		} else {
			expect(c, what, "node", row.NodeName, e.Entity.Node)
			expect(c, what, "topic", row.TopicName, e.Entity.Name)
			expect(c, what, "publisher", row.PublisherHandle, trace.Address(e.Entity.Handle))
		}
		c.compareWhere(what, e.In, row.Callback, row.CallbackStartTimestamp)
		if row.last > e.End {
			c.wrong("%s: its last layer was at %d, when it had been over since %d", what, row.last, e.End)
		}
		// Where only the next event of the thread shows that a publish is over, the recording may end before.
		mayBeOpen := row.Status == trace.PublishRecordingEnd && !c.goesOn(e)
		if row.Status != trace.PublishComplete && !mayBeOpen && c.recorded(e) {
			c.wrong("%s: status is %s", what, row.Status)
		}
		for layer, at := range row.layers() {
			if at.Valid {
				at := departure{instant{at.Value, e.Entity.Name, e.Entity.Node}, layer}
				c.departed[at] = append(c.departed[at], e)
			}
		}
	}
	for _, rows := range c.publishes {
		for _, row := range rows {
			// What the middleware publishes for itself belongs to no node, and what rclcpp does has names of its own.
			if row.of == nil && c.topics[row.TopicName] && !c.duringAnEdge(row.first, row.last) {
				c.wrong("publish on thread %d at %d: says %s %s, which did not publish then", row.TID, row.first, row.NodeName, row.TopicName)
			}
		}
	}
}

// goesOn reports whether something that is recorded happened on a thread after an event.
func (c *comparer) goesOn(e *Event) bool {
	for _, events := range [][]*Event{c.truth.Callbacks, c.truth.Publishes, c.truth.Takes, c.truth.Requests, c.truth.Responses} {
		if slices.ContainsFunc(events, func(other *Event) bool {
			// The end of the callback that the event happened in is recorded, too.
			return other.TID == e.TID && (other.Start > e.End || other.End > e.End) && other.End <= c.Span.CloseFrom
		}) {
			return true
		}
	}
	return false
}

// duringAnEdge reports whether something was recorded half, because the recording began or ended in it.
func (c *comparer) duringAnEdge(first, last uint64) bool {
	return first < c.Span.OpenTo || last > c.Span.CloseFrom
}

func (c *comparer) compareTakes() {
	for _, e := range c.truth.Takes {
		what := describe("take", e)
		rows := within(c.takes[e.TID], e, func(r *takeRow) uint64 { return r.at })
		if len(rows) == 0 {
			if c.recorded(e) {
				c.missing("%s", what)
			}
			continue
		}
		if len(rows) > 1 {
			c.wrong("%s: has %d rows", what, len(rows))
		}
		row := rows[0]
		row.of = e
		c.Compared["takes"]++
		if row.Kind != trace.TakeRMW {
			c.wrong("%s: is %s", what, row.Kind)
		}
		expect(c, what, "node", row.NodeName, e.Entity.Node)
		expect(c, what, "topic", row.TopicName, e.Entity.Name)
		expect(c, what, "subscription", row.SubscriptionHandle, trace.Address(e.Entity.Handle))
		c.compareWhere(what, e.In, row.Callback, row.CallbackStartTimestamp)
		at := instant{row.RMWTakeTimestamp.Value, e.Entity.Name, e.Entity.Node}
		c.arrived[at] = append(c.arrived[at], e)
	}
	for _, rows := range c.takes {
		for _, row := range rows {
			switch {
			case row.of != nil || internalName.MatchString(row.TopicName) || row.TopicName == "" && row.Buffer == 0:
			case row.Kind == trace.TakeIgnored:
				c.Compared["ignored takes"]++
			case row.Kind == trace.TakeUnattributed:
				c.compareUnattributed(row)
			default:
				c.wrong("%s on thread %d at %d of %s %s: nobody polled then", row.Kind, row.TID, row.at, row.NodeName, row.TopicName)
			}
		}
	}
}

// compareUnattributed demands a reason why nobody can know who got a message: the recording ended before its thread did
// anything that would show it, or the message was published before it began, so that how its publisher publishes may
// not have been seen yet.
func (c *comparer) compareUnattributed(row *takeRow) {
	c.unattributed[cmp.Or(row.RMWTakeTimestamp.Value, row.DequeueTimestamp.Value)] = true
	after := false
	for e := range c.rowOf {
		after = after || e.TID == row.TID && e.Start >= row.at
	}
	published := slices.ContainsFunc(c.Publishes, func(p trace.Publish) bool {
		return p.PID == row.PID && p.TopicName == row.TopicName && p.SourceTimestamp.Valid && p.SourceTimestamp == row.SourceTimestamp
	})
	if after && published {
		c.unknown("take on thread %d at %d of %s %s: it is not said who got the message", row.TID, row.at, row.NodeName, row.TopicName)
		return
	}
	c.Compared["takes at the edges"]++
}

// comparePassages checks that each message was joined with what received it, by the numbers that messages carry.
func (c *comparer) comparePassages() {
	received := map[*Event]bool{}
	for _, passage := range c.Passages {
		if !c.topics[passage.Topic] {
			continue
		}
		publishes := c.publishesOf(&passage)
		published := publishes.numbered(0)
		if published == nil {
			continue // it began before the recording, or is reported as wrong
		}
		what := describe("message", published)
		switch passage.Fate {
		case analyze.Received:
		case analyze.Unknown:
			if passage.Transport == analyze.IntraProcess && c.slotsAreDerived() {
				c.Compared["messages, slot not certain"]++
				continue
			}
			if !c.recorded(published) {
				c.Compared["messages at the edges"]++
				continue
			}
			c.unknown("%s: its fate at %s", what, passage.SubscriptionNode)
			continue
		default:
			continue
		}
		start := passage.CallbackStartTimestamp
		if !start.Valid {
			start = passage.Take
		}
		reception := instant{start.Value, passage.Topic, passage.SubscriptionNode}
		got := c.arrived[reception].numbered(published.Number)
		for _, candidate := range c.arrived[reception] {
			if of := publishes.numbered(candidate.Number); of.Number == candidate.Number {
				got, published = candidate, of
			}
		}
		if got == nil && c.unattributed[start.Value] {
			continue // it was looked into with the takes
		}
		if got == nil {
			c.wrong("%s: was joined with what %s received at %d, when it received nothing", what, passage.SubscriptionNode, c.clock(start))
			continue
		}
		c.Compared["messages, "+string(passage.Transport)]++
		received[got] = true
		if got.Number != published.Number {
			c.wrong("%s: number %#x was joined with %s, number %#x, by %s", what, published.Number, describe("reception", got), got.Number, passage.JoinedBy)
		}
	}
	c.compareUnjoined(received)
}

// simultaneous are events of several threads at the same moment, of which nothing but the message tells one from the
// other: two processors may read the same time.
type simultaneous []*Event

// numbered returns the event of a message, another one if there is none, nil if there are no events.
func (s simultaneous) numbered(message uint64) *Event {
	for _, e := range s {
		if e.Number == message {
			return e
		}
	}
	if len(s) == 0 {
		return nil
	}
	return s[0]
}

// publishesOf returns what a passage may begin with. Which layers it has depends on the distribution.
func (c *comparer) publishesOf(passage *analyze.CommunicationInstance) simultaneous {
	for layer, at := range []trace.Optional[int64]{
		passage.RclcppIntraPublish, passage.RclcppPublish, passage.RclPublish, passage.RMWPublish, passage.DDSBindAddrToStamp,
	} {
		if at.Valid {
			return c.departed[departure{instant{at.Value, passage.Topic, passage.PublisherNode}, layer}]
		}
	}
	return nil
}

// slotsAreDerived reports whether the slots of intra-process buffers are read from memory a moment after the operation,
// as on Humble. Where several threads use a buffer at once, what happened to it is not certain then, and is not said.
func (c *comparer) slotsAreDerived() bool {
	return slices.ContainsFunc(c.Publishes, func(p trace.Publish) bool { return p.Provenance == trace.Derived })
}

// compareUnjoined looks for messages that were recorded at both ends, and not joined.
func (c *comparer) compareUnjoined(received map[*Event]bool) {
	numbers := map[uint64]bool{}
	for _, events := range c.departed {
		for _, e := range events {
			numbers[e.Number] = true
		}
	}
	for _, e := range slices.Concat(slices.Collect(maps.Values(c.arrived))...) {
		isMessage := slices.Contains([]EntityKind{KindSubscription, KindGenericSubscription, KindPolledSubscription}, e.Entity.Kind)
		if !isMessage || !numbers[e.Number] || received[e] {
			continue
		}
		switch row := c.rowOf[e]; {
		case row != nil && row.DequeueTimestamp.Valid && c.slotsAreDerived():
			c.Compared["receptions, slot not certain"]++
		case c.mayHaveBegunBefore(e): // then the message was taken before
			c.Compared["receptions at the edges"]++
		default:
			c.unknown("%s: its publish was recorded, but not joined", describe("reception", e))
		}
	}
}
