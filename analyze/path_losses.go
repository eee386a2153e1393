package analyze

import "github.com/caret-bpf/caret-bpf/trace"

// pathLosses tells of the messages that were dropped on the hops of paths: lost between nodes, or unused in one. A nil
// pathLosses tells of none.
type pathLosses struct {
	each   func(PathHopInstance)
	lost   map[route][]pathPlace
	unused map[inNode][]pathPlace
	times  []int64 // room

	// Each of the two is written by a goroutine of its own.
	onWays, inNodes pathLossQueue
}

// pathPlace is a hop of a path, which sets out from the node of that index.
type pathPlace struct {
	path      *trackedPath
	node, hop int
}

// pathLoss is a message that was dropped: its departure or, in a node, its arrival.
type pathLoss struct {
	departure *departure
	arrival   *arrival
	places    []pathPlace
}

// pathLossQueue keeps losses for a window: what the messages were made of may be joined late.
type pathLossQueue struct{ new, due []pathLoss }

func (q *pathLossQueue) next() []pathLoss {
	due := q.due
	q.due, q.new = q.new, nil
	return due
}

func newPathLosses(paths []*trackedPath, each func(PathHopInstance)) *pathLosses {
	l := &pathLosses{each: each, lost: make(map[route][]pathPlace), unused: make(map[inNode][]pathPlace)}
	for _, p := range paths {
		hop := 0
		if p.fromCallback {
			hop++
		}
		for i := range p.Nodes {
			n := &p.Nodes[i]
			if n.Subscription != nil && n.Publisher != nil {
				of := inNode{n.Subscription, n.Publisher}
				l.unused[of] = append(l.unused[of], pathPlace{p, i, hop})
				hop++
			}
			if i+1 < len(p.Nodes) {
				of := route{n.Publisher, p.Nodes[i+1].Subscription}
				l.lost[of] = append(l.lost[of], pathPlace{p, i, hop})
				hop++
			}
		}
	}
	return l
}

// onTheWay notes that a message did not get to the next node.
func (l *pathLosses) onTheWay(p passage) {
	if l != nil {
		l.onWays.new = append(l.onWays.new, pathLoss{departure: p.departure, places: l.lost[route{p.departure.publisher, p.subscription}]})
	}
}

// inNode notes that a message led to no publish.
func (l *pathLosses) inNode(of inNode, a *arrival) {
	if l != nil {
		l.inNodes.new = append(l.inNodes.new, pathLoss{arrival: a, places: l.unused[of]})
	}
}

// tell tells of what was noted in the last window.
func (l *pathLosses) tell() {
	if l == nil {
		return
	}
	for _, loss := range l.onWays.next() {
		l.tellOf(loss, Lost)
	}
	for _, loss := range l.inNodes.next() {
		l.tellOf(loss, Unused)
	}
}

func (l *pathLosses) tellOf(loss pathLoss, fate Fate) {
	for _, at := range loss.places {
		hop := at.path.hops[at.hop]
		instance := PathHopInstance{Path: at.path.name, Hop: at.hop + 1, Kind: hop.kind, Name: hop.name, Fate: fate}
		if loss.departure != nil {
			instance.Begin = loss.departure.at
		} else {
			instance.Begin = loss.arrival.start
		}
		l.times = append(l.times[:0], make([]int64, len(at.path.hops)+1)...)
		if from := at.path.followBack(at.node, loss.arrival, loss.departure, l.times); from != nil {
			instance.PathBegin = trace.Some(from.at)
		}
		l.each(instance)
	}
}
