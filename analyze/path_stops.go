package analyze

// pathStops tells of the messages that did not get on along paths: between nodes, or in one. A nil pathStops tells of
// none.
type pathStops struct {
	tell    func(*pathStop)
	between map[route][]pathPlace
	within  map[inNode][]pathPlace
	stop    pathStop // reused

	// Each of the two is written by a goroutine of its own.
	onWays, inNodes stopQueue
}

// pathStop is a message that did not get on along a path.
type pathStop struct {
	path *trackedPath
	hop  int // index of the hop that it did not pass
	fate Fate
	at   int64 // when it set out on the hop
	// from is the begin that it came from, nil if there is none; then times are when it set out there and passed the hops.
	from  *pathBegin
	times []int64 // reused
}

// pathPlace is a hop of a path, which sets out from the node of that index.
type pathPlace struct {
	path      *trackedPath
	node, hop int
}

// stopped is a message that did not get on: its departure or, in a node, its arrival.
type stopped struct {
	departure *departure
	arrival   *arrival
	fate      Fate
	places    []pathPlace
}

// stopQueue keeps messages for a window: what they were made of may be joined late.
type stopQueue struct{ new, due []stopped }

func (q *stopQueue) next() []stopped {
	due := q.due
	q.due, q.new = q.new, nil
	return due
}

func newPathStops(paths []*trackedPath, tell func(*pathStop)) *pathStops {
	s := &pathStops{tell: tell, between: make(map[route][]pathPlace), within: make(map[inNode][]pathPlace)}
	for _, p := range paths {
		hop := 0
		if p.fromCallback {
			hop++
		}
		for i := range p.Nodes {
			n := &p.Nodes[i]
			if n.Subscription != nil && n.Publisher != nil {
				of := inNode{n.Subscription, n.Publisher}
				s.within[of] = append(s.within[of], pathPlace{p, i, hop})
				hop++
			}
			if i+1 < len(p.Nodes) {
				of := route{n.Publisher, p.Nodes[i+1].Subscription}
				s.between[of] = append(s.between[of], pathPlace{p, i, hop})
				hop++
			}
		}
	}
	return s
}

// onTheWay notes that a message was not seen to get to the next node.
func (s *pathStops) onTheWay(p passage) {
	if s != nil && p.fate != Received {
		s.onWays.new = append(s.onWays.new, stopped{departure: p.departure, fate: p.fate, places: s.between[route{p.departure.publisher, p.subscription}]})
	}
}

// inNode notes that a message led to no publish.
func (s *pathStops) inNode(of inNode, l linked) {
	if s != nil && l.output == nil {
		s.inNodes.new = append(s.inNodes.new, stopped{arrival: l.input, fate: Unused, places: s.within[of]})
	}
}

// tellOfLast tells of what was noted in the last window.
func (s *pathStops) tellOfLast() {
	if s == nil {
		return
	}
	for _, m := range s.onWays.next() {
		s.tellOf(m, m.departure.at)
	}
	for _, m := range s.inNodes.next() {
		s.tellOf(m, m.arrival.start)
	}
}

func (s *pathStops) tellOf(m stopped, at int64) {
	for _, place := range m.places {
		stop := &s.stop
		stop.path, stop.hop, stop.fate, stop.at = place.path, place.hop, m.fate, at
		stop.times = append(stop.times[:0], make([]int64, place.hop+1)...)
		if stop.from = place.path.followBack(place.node, m.arrival, m.departure, stop.times, nil); stop.from != nil && place.path.fromCallback {
			stop.times[0] = stop.from.at
		}
		s.tell(stop)
	}
}
