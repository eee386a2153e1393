package oracle

import (
	"github.com/caret-bpf/caret-bpf/test/groundtruth"
	"github.com/caret-bpf/caret-bpf/trace"
)

// instantKinds are the kinds of instants.
var instantKinds = []instantKind{lifecycleTransitions, simTimeUpdates, waits, earlierWaits}

// lifecycleTransitions are the steps of life cycles. Those that are lost count as initialization events.
var lifecycleTransitions = &instantTable[groundtruth.LifecycleTransition, trace.Lifecycle]{
	what: "lifecycle transition", minimal: true,
	events: func(truth *groundtruth.Truth) []groundtruth.LifecycleTransition { return truth.LifecycleTransitions },
	on:     func(e *groundtruth.LifecycleTransition) (int, groundtruth.Bracket) { return e.TID, e.Bracket },
	rows:   func(data *Dataset) []trace.Lifecycle { return data.Lifecycles },
	of: func(row *trace.Lifecycle) (trace.ProcessKey, int32, int64) {
		return row.ProcessKey, row.TID, row.TransitionTimestamp
	},
	check: func(c *comparer, what string, transition *groundtruth.LifecycleTransition, row *trace.Lifecycle) {
		machine, _ := c.stateMachines.at(transition.StateMachine, transition.Bracket.Before)
		node := c.nodeName(machine.entity.Node, transition.Bracket.Before)
		switch {
		case c.Filter.drops(node, ""):
			if row != nil {
				c.differ("%s: is filtered out", what)
			}
			return
		case row == nil:
			c.lack(trace.LostInit, what, c.span.holds(transition.Bracket))
			return
		}
		equal(c, what+": state machine", uint64(row.StateMachine), transition.StateMachine)
		equalName(c, !c.Evicted, what+": start label", row.StartLabel, transition.Start)
		equalName(c, !c.Evicted, what+": goal label", row.GoalLabel, transition.Goal)
		// The stand-in's state machine is in no object that a scan of the memory could find.
		equalName(c, told(c, machine, machine.entity.Node) && !c.scanned(machine.ready), what+": node", row.NodeName, node)
		c.Transitions++
	},
}

// simTimeUpdates are the updates of clocks by simulated time.
var simTimeUpdates = &instantTable[groundtruth.SimTime, trace.SimTime]{
	what:   "simulated time",
	events: func(truth *groundtruth.Truth) []groundtruth.SimTime { return truth.SimTimes },
	on:     func(e *groundtruth.SimTime) (int, groundtruth.Bracket) { return e.TID, e.Bracket },
	rows:   func(data *Dataset) []trace.SimTime { return data.SimTimes },
	of: func(row *trace.SimTime) (trace.ProcessKey, int32, int64) {
		return row.ProcessKey, row.TID, row.UpdateTimestamp
	},
	check: func(c *comparer, what string, update *groundtruth.SimTime, row *trace.SimTime) {
		if row == nil {
			c.lack(trace.LostSimTime, what, c.span.holds(update.Bracket))
			return
		}
		equal(c, what+": clock", uint64(row.Clock), update.Clock)
		equal(c, what+": simulated time", row.SimTime, update.Stamp)
		c.Compared[trace.LostSimTime]++
	},
}
