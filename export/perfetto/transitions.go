package perfetto

import (
	"cmp"

	"github.com/caret-bpf/caret-bpf/trace"
)

// drawnTransitions draws the transitions of managed nodes as instants, on a track of each.
type drawnTransitions struct {
	*drawing
	nodes map[nodeKey]uint64
}

func newDrawnTransitions(d *drawing) *drawnTransitions {
	return &drawnTransitions{drawing: d, nodes: make(map[nodeKey]uint64)}
}

func (n *drawnTransitions) add(rows []trace.Lifecycle) error {
	for i := range rows {
		row := &rows[i]
		key := nodeKey{row.ProcessKey, row.NodeName}
		track := n.nodes[key]
		if track == 0 {
			track = n.describe(nameOf(row.NodeName)+" transitions", n.process(row.ProcessKey).track)
			n.nodes[key] = track
		}
		n.summary.Transitions++
		name := cmp.Or(row.StartLabel, "unknown") + " → " + cmp.Or(row.GoalLabel, "unknown")
		n.occurred(row.TransitionTimestamp, appendVarint(n.event(instant, categoryLifecycle, name), eventTrackUUID, track))
	}
	return n.err
}
