package programs

import (
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// internalName matches topics and services that rclcpp makes for each node by itself, or for actions and life cycles.
// Programs do not log what happens there.
var internalName = regexp.MustCompile(`^/parameter_events$|^/rosout$|/_action/|/transition_event$|/(describe_parameters|get_parameter_types|get_parameters|` +
	`list_parameters|set_parameters|set_parameters_atomically|get_type_description|change_state|get_state|get_available_states|` +
	`get_available_transitions|get_transition_graph)$`)

func (c *comparer) compareCallbacks() {
	for i, e := range c.truth.Callbacks {
		var before, after *Event
		if i > 0 && c.truth.Callbacks[i-1].TID == e.TID {
			before = c.truth.Callbacks[i-1]
		}
		// The next one on the thread that does not run in this one.
		for _, next := range c.truth.Callbacks[i+1:] {
			if next.TID != e.TID {
				break
			}
			if next.Start >= e.End {
				after = next
				break
			}
		}
		c.compareCallback(e, before, after)
	}
	for _, rows := range c.callbacks {
		for _, row := range rows {
			if row.of == nil {
				c.compareInternal(row)
			}
		}
	}
}

// find returns the row that encloses an execution: the last of its thread that began before, unless it was over, or is
// another's.
func (c *comparer) find(e *Event) *callbackRow {
	rows := c.callbacks[e.TID]
	i := sort.Search(len(rows), func(i int) bool { return rows[i].start > e.Start }) - 1
	if i < 0 || rows[i].start == 0 {
		// Of those that began before the recording only the end is known. The first that ended after it is its own, unless
		// a later execution of the thread was over by then, too.
		if e.Start >= c.Span.OpenTo && !c.mayHaveBegunBefore(e) {
			return nil
		}
		var first *callbackRow
		for _, row := range rows {
			if row.start == 0 && row.of == nil && row.end >= e.End && (first == nil || row.end < first.end) {
				first = row
			}
		}
		if first != nil && c.endedBetween(e, first.end) {
			return nil
		}
		return first
	}
	if row := rows[i]; row.of == nil && (row.end == 0 || row.end >= e.End) {
		return row
	}
	return nil
}

// endedBetween reports whether a later execution on the thread of one, within another or not, ended after it and before
// an instant.
func (c *comparer) endedBetween(e *Event, at uint64) bool {
	return slices.ContainsFunc(c.truth.Callbacks, func(other *Event) bool {
		return other.TID == e.TID && other.Start > e.Start && other.End > e.End && other.End <= at
	})
}

// mayHaveBegunBefore reports whether callback_start may have been hit before the recording began, although the program
// noticed the start only afterwards: nothing that the thread did in between shows that it was later.
func (c *comparer) mayHaveBegunBefore(e *Event) bool {
	for _, other := range c.truth.Callbacks {
		if other.TID == e.TID && other.Start < e.Start && (other.Start >= c.Span.OpenTo || other.End >= c.Span.OpenTo && other.End < e.Start) {
			return false
		}
	}
	return c.Span.OpenTo > 0
}

func (c *comparer) compareCallback(e, before, after *Event) {
	what := describe("callback", e)
	row := c.find(e)
	if row == nil {
		// callback_start lies before what the program notices, so one that began before the end was recorded for certain.
		if e.Start >= c.Span.OpenTo && e.Start <= c.Span.CloseFrom && !c.mayHaveBegunBefore(e) {
			c.missing("%s", what)
		}
		return
	}
	row.of, c.rowOf[e] = e, row
	c.Compared["callbacks"]++
	c.compareOwner(what, row, e.Entity)
	c.compareEnd(what, row, e, after)
	if row.start == 0 {
		if row.Status != trace.CallbackStartMissing {
			c.wrong("%s: has no start, but status %s", what, row.Status)
		}
		return
	}
	if before != nil && before.End <= e.Start && row.start < before.End {
		c.wrong("%s: began at %d, when the one before was running until %d", what, row.start, before.End)
	}
	depth := 0
	for in := e.In; in != nil; in = in.In {
		if outer := c.rowOf[in]; outer != nil && outer.start != 0 {
			depth++
		}
	}
	if int(row.Depth) != depth {
		c.wrong("%s: depth is %d, not %d", what, row.Depth, depth)
	}
	c.compareWhere(what, e.In, row.ParentCallback, row.ParentCallbackStartTimestamp)
	if e.Entity.Name != "" && e.Number != 0 {
		at := instant{row.CallbackStartTimestamp.Value, e.Entity.Name, e.Entity.Node}
		c.arrived[at] = append(c.arrived[at], e)
	}
}

// compareEnd checks how and when a callback ended: after the program says so, and before its thread did anything else.
func (c *comparer) compareEnd(what string, row *callbackRow, e, after *Event) {
	limit := c.Span.CloseTo
	if after != nil {
		limit = min(limit, after.Start)
	}
	if e.In != nil {
		limit = min(limit, e.In.End)
	}
	want := trace.CallbackComplete
	switch {
	case row.start == 0:
		want = trace.CallbackStartMissing
	case e.Outcome == Threw:
		want = trace.CallbackUnwound
	}
	switch {
	case row.Status == want:
	case row.Status == trace.CallbackRecordingEnd && (after == nil || after.Start > c.Span.CloseFrom) && (e.In == nil || e.In.End > c.Span.CloseFrom):
		// callback_end lies behind what the program notices. Nothing shows that it came before the end of the recording.
	default:
		c.wrong("%s: status is %s, not %s", what, row.Status, want)
	}
	if row.end != 0 && (row.end < e.End || row.end > limit) {
		c.wrong("%s: ended at %d, not between %d and %d", what, row.end, e.End, limit)
	}
}

var entityInSymbol = regexp.MustCompile(`entity(\d+)_`)

// compareOwner checks whose callback a row says that it is.
func (c *comparer) compareOwner(what string, row *callbackRow, owner *Entity) {
	expect(c, what, "node", row.NodeName, owner.Node)
	expect(c, what, "topic", row.TopicName, owner.Name)
	kind := trace.CallbackKind(owner.Kind)
	intra := row.IsIntraProcess == trace.Some(true)
	switch owner.Kind {
	case KindGenericSubscription:
		kind = trace.KindSubscription
	case KindDeferringService:
		kind = trace.KindService
	}
	if intra {
		kind = "intra_process_" + kind
	}
	if row.start != 0 || row.Kind != "intra_process_"+kind { // an end does not tell the way
		expect(c, what, "kind", row.Kind, kind)
	}
	if owner.Kind == KindTimer {
		expect(c, what, "period", row.Period, trace.Some(owner.Period))
	} else if row.Period.Valid {
		c.wrong("%s: has a period of %d", what, row.Period.Value)
	}
	if owner.Kind == KindSubscription || owner.Kind == KindGenericSubscription {
		expect(c, what, "subscription", row.SubscriptionHandle, trace.Address(owner.Handle))
	} else if row.SubscriptionHandle != 0 {
		c.wrong("%s: has subscription %s", what, row.SubscriptionHandle)
	}
	// Functions of callables have the number of their entity in their names; of what comes and goes without the last three
	// digits.
	id := owner.ID
	if id >= 1000 {
		id /= 1000
	}
	for _, match := range entityInSymbol.FindAllStringSubmatch(row.Symbol, -1) {
		if number, _ := strconv.Atoi(match[1]); number != id {
			c.wrong("%s: symbol is that of entity %d: %s", what, number, row.Symbol)
		}
	}
	if row.start != 0 {
		key := addressOf{owner, intra}
		if former, ok := c.addresses[key]; ok && former != row.Callback.Callback {
			c.wrong("%s: callback is %s, it was %s before", what, row.Callback.Callback, former)
		}
		c.addresses[key] = row.Callback.Callback
	}
	c.compareInfo(what, row, owner)
}

// compareInfo checks what the table of callbacks says of the address at that time.
func (c *comparer) compareInfo(what string, row *callbackRow, owner *Entity) {
	at := max(row.start, row.of.Start)
	known := slices.ContainsFunc(c.CallbackInfos, func(info trace.CallbackInfo) bool {
		return info.Callback == row.Callback.Callback && info.PID == row.PID && uint64(info.OwnerHandle) == owner.Handle
	})
	if !known {
		c.unknown("%s: callback_info has no such owner of %s", what, row.Callback.Callback)
	}
	for _, info := range c.CallbackInfos {
		if info.Callback == row.Callback.Callback && info.PID == row.PID && info.OwnerHandle != 0 && uint64(info.OwnerHandle) != owner.Handle &&
			info.InitTimestamp.Valid && c.clock(info.InitTimestamp) <= at && (!info.EndTimestamp.Valid || c.clock(info.EndTimestamp) >= at) {
			c.wrong("%s: callback_info says that %s was %s of %s then", what, row.Callback.Callback, info.Kind, info.NodeName)
		}
	}
}

// compareInternal checks a row that no execution of the program belongs to: it must be rclcpp's own.
func (c *comparer) compareInternal(row *callbackRow) {
	switch {
	case row.Kind == "" || row.NodeName == "":
		c.unknown("callback %s on thread %d at %d: nothing that the program logged belongs to it, and its owner is unknown (%s, %s)", row.Callback.Callback, row.TID, row.start, row.Status, row.Symbol)
	case !internalName.MatchString(row.TopicName):
		c.wrong("callback %s on thread %d at %d (%s): says %s of %s %s, which did not run then", row.Callback.Callback, row.TID, row.start, row.Status, row.Kind, row.NodeName, row.TopicName)
	case !c.nodes[row.NodeName]:
		c.wrong("callback %s on thread %d: there is no node %s", row.Callback.Callback, row.TID, row.NodeName)
	default:
		c.Compared["internal callbacks"]++
	}
	if strings.Contains(row.Symbol, "entity") {
		c.wrong("callback %s on thread %d at %d: symbol is %s, which did not run then", row.Callback.Callback, row.TID, row.start, row.Symbol)
	}
}
