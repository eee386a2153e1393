package programs

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

func (c *comparer) compareServices() {
	for _, e := range c.truth.Requests {
		row := c.compareStep("request", e, trace.RequestSent)
		if row == nil {
			continue
		}
		expect(c, describe("request", e), "client", row.ClientHandle, trace.Address(e.Entity.Handle))
		if row.ClientGID == "" {
			c.unknown("%s: client_gid is unknown", describe("request", e))
		}
		c.sent[call{row.ClientGID, row.SequenceNumber}] = e
	}
	for _, e := range c.truth.Responses {
		if row := c.compareStep("response", e, trace.ResponseSent); row != nil {
			expect(c, describe("response", e), "service", row.ServiceHandle, trace.Address(e.Entity.Handle))
		}
	}
	for i, e := range c.truth.Callbacks {
		if e.Entity.Kind == KindService || e.Entity.Kind == KindDeferringService {
			c.compareTakenRequest(e)
		}
		if e.Entity.Kind == KindService {
			c.compareImplicitResponse(i, e)
		}
	}
	for _, rows := range c.services {
		for _, row := range rows {
			switch {
			case row.of != nil || internalName.MatchString(row.ServiceName):
			case row.ServiceName == "":
				c.unknown("%s on thread %d at %d: of which service is unknown", row.Step, row.TID, row.at)
			case row.Step == trace.ResponseTaken:
				c.compareTakenResponse(row)
			case c.duringAnEdge(row.at, row.at) || c.fedNothingYet(row):
			default:
				c.wrong("%s on thread %d at %d: says %s %s, which did nothing of the kind", row.Step, row.TID, row.at, row.NodeName, row.ServiceName)
			}
		}
	}
}

// fedNothingYet reports whether a request was taken just before the recording ended, so that its callback began later.
func (c *comparer) fedNothingYet(row *serviceRow) bool {
	if row.Step != trace.RequestTaken || row.Callback != 0 {
		return false
	}
	return !slices.ContainsFunc(c.truth.Callbacks, func(e *Event) bool {
		return e.TID == row.TID && e.Start >= row.at && e.Start <= c.Span.CloseFrom
	})
}

// compareStep finds the row of a step that a call of the program made.
func (c *comparer) compareStep(name string, e *Event, step trace.ServiceStep) *serviceRow {
	what := describe(name, e)
	var row *serviceRow
	for _, candidate := range within(c.services[e.TID], e, func(r *serviceRow) uint64 { return r.at }) {
		switch {
		case candidate.Step != step:
			c.wrong("%s: has a row %s", what, candidate.Step)
		case row != nil:
			c.wrong("%s: has two rows", what)
		default:
			row = candidate
		}
	}
	if row == nil {
		if c.recorded(e) {
			c.missing("%s", what)
		}
		return nil
	}
	row.of = e
	c.Compared["service steps"]++
	expect(c, what, "service", row.ServiceName, e.Entity.Name)
	expect(c, what, "node", row.NodeName, e.Entity.Node)
	c.compareWhere(what, e.In, row.Callback, row.CallbackStartTimestamp)
	return row
}

// compareTakenRequest finds the request that fed a service's callback.
func (c *comparer) compareTakenRequest(e *Event) {
	callback := c.rowOf[e]
	if callback == nil || callback.start == 0 {
		return
	}
	what := describe("request taken", e)
	var row *serviceRow
	for _, candidate := range c.services[e.TID] {
		// What it took itself, as an action server that it lets run, names it, too, as where that happened.
		if candidate.Step == trace.RequestTaken && candidate.at < callback.start &&
			candidate.Callback == callback.Callback.Callback && candidate.CallbackStartTimestamp == callback.CallbackStartTimestamp {
			if row != nil {
				c.wrong("%s: two requests fed one callback", what)
			}
			row = candidate
		}
	}
	if row == nil {
		// It may have been taken before the recording began.
		if !c.mayHaveBegunBefore(e) {
			c.missing("%s", what)
		}
		return
	}
	row.of = e
	c.Compared["requests taken"]++
	expect(c, what, "service", row.ServiceName, e.Entity.Name)
	expect(c, what, "node", row.NodeName, e.Entity.Node)
	expect(c, what, "handle", row.ServiceHandle, trace.Address(e.Entity.Handle))
	request := c.sent[call{row.ClientGID, row.SequenceNumber}]
	switch {
	case request == nil:
		for number := range c.requestNumbers() {
			if number == e.Number {
				c.unknown("%s: the request was recorded, but not joined", what)
			}
		}
	case request.Number != e.Number:
		c.wrong("%s: was joined with number %#x, it has %#x", what, request.Number, e.Number)
	default:
		c.Compared["requests joined"]++
	}
}

// requestNumbers are those of the requests that have rows.
func (c *comparer) requestNumbers() map[uint64]bool {
	numbers := map[uint64]bool{}
	for _, e := range c.sent {
		numbers[e.Number] = true
	}
	return numbers
}

// compareImplicitResponse finds what rclcpp sends when a callback has returned: after it, and before the thread's next
// callback.
func (c *comparer) compareImplicitResponse(i int, e *Event) {
	if e.Outcome == Threw || e.End < c.Span.OpenFrom {
		return
	}
	after := &Event{TID: e.TID, Start: e.End, End: c.Span.CloseTo}
	certain := false
	for _, next := range c.truth.Callbacks[i+1:] {
		if next.TID == e.TID && next.Start >= e.End {
			after.End = next.Start
			certain = next.Start <= c.Span.CloseFrom
			break
		}
	}
	if e.In != nil {
		after.End = min(after.End, e.In.End)
		certain = certain || e.In.End <= c.Span.CloseFrom
	}
	what := describe("response", e)
	for _, row := range within(c.services[e.TID], after, func(r *serviceRow) uint64 { return r.at }) {
		if row.of == nil && row.Step == trace.ResponseSent && row.ServiceName == e.Entity.Name {
			row.of = e
			c.Compared["service steps"]++
			expect(c, what, "node", row.NodeName, e.Entity.Node)
			expect(c, what, "service", row.ServiceHandle, trace.Address(e.Entity.Handle))
			c.compareWhere(what, e.In, row.Callback, row.CallbackStartTimestamp)
			return
		}
	}
	if certain && e.Start >= c.Span.OpenTo {
		c.missing("%s", what)
	}
}

// compareTakenResponse checks what a client took. When it does, the program learns only if it wants to.
func (c *comparer) compareTakenResponse(row *serviceRow) {
	for _, e := range c.truth.Entities {
		if e.Kind == KindClient && trace.Address(e.Handle) == row.ClientHandle {
			if e.Name != row.ServiceName || e.Node != row.NodeName {
				c.wrong("response taken on thread %d at %d: says %s %s, not %s %s", row.TID, row.at, row.NodeName, row.ServiceName, e.Node, e.Name)
			}
			c.Compared["responses taken"]++
			return
		}
	}
	c.wrong("response taken on thread %d at %d: there is no client %s", row.TID, row.at, row.ClientHandle)
}

// compareTransitions checks that each step of a life cycle has the rows of its two transitions.
func (c *comparer) compareTransitions() {
	for _, e := range c.truth.Transitions {
		what, rows := describe("transition", e), 0
		for _, row := range c.Lifecycles {
			at := c.clock(trace.Some(row.TransitionTimestamp))
			if row.PID == c.truth.PID && row.TID == e.TID && at >= e.Start && at <= e.End {
				rows++
				expect(c, what, "node", row.NodeName, e.Entity.Node)
			}
		}
		if c.recorded(e) {
			c.Compared["transitions"]++
			if rows < 2 {
				c.missing("%s: has %d rows", what, rows)
			}
		}
	}
}
