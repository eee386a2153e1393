package oracle

import (
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// compareTransition compares a step of a life cycle. Those that are lost count as initialization events.
func (c *comparer) compareTransition(rows *threadRows, transition groundtruth.LifecycleTransition) {
	what := describe(transition.TID, "lifecycle transition", transition.Bracket)
	machine, _ := c.stateMachines.at(transition.StateMachine, transition.Bracket.Before)
	node := c.nodeName(machine.entity.Node, transition.Bracket.Before)
	row := one(c, what, rows.transitions, transition.Bracket)
	switch {
	case c.Filter.drops(node, ""):
		if row != nil {
			c.differ("%s: is filtered out", what)
		}
		return
	case row == nil:
		if c.span.holds(transition.Bracket) == present {
			c.miss(trace.LostInit, what)
		}
		return
	}
	equal(c, what+": state machine", uint64(row.StateMachine), transition.StateMachine)
	equalName(c, !c.Evicted, what+": start label", row.StartLabel, transition.Start)
	equalName(c, !c.Evicted, what+": goal label", row.GoalLabel, transition.Goal)
	// The stand-in's state machine is in no object that a scan of the memory could find.
	equalName(c, told(c, machine, machine.entity.Node) && !c.scanned(machine.ready), what+": node", row.NodeName, node)
	c.Transitions++
}

// compareSimTime compares an update of a clock by simulated time.
func (c *comparer) compareSimTime(rows *threadRows, update groundtruth.SimTime) {
	what := describe(update.TID, "simulated time", update.Bracket)
	row := one(c, what, rows.simTimes, update.Bracket)
	if row == nil {
		if c.span.holds(update.Bracket) == present {
			c.miss(trace.LostSimTime, what)
		}
		return
	}
	equal(c, what+": clock", uint64(row.Clock), update.Clock)
	equal(c, what+": simulated time", row.SimTime, update.Stamp)
	c.Compared[trace.LostSimTime]++
}
