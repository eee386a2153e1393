package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// HopKind says what a hop of a path is.
type HopKind string

// The kinds of hops.
const (
	// HopPath is the path as a whole.
	HopPath HopKind = "path"
	// HopCommunication leads from a publish to the callback, or the poll, of the next node.
	HopCommunication HopKind = "communication"
	// HopNode leads from there to the node's publish.
	HopNode HopKind = "node"
)

// PathHop is the latency of a path or of one of its hops. The hops' durations are those of the messages that went all the way, so their
// means add up to the path's.
type PathHop struct {
	Path string `report:"path,detail"`
	// Hop counts from 1; 0 is the path as a whole.
	Hop  int     `report:"hop"`
	Kind HopKind `report:"kind"`
	Name string  `report:"name"`
	Statistics
	// Begun is the number of messages that set out on the path or the hop, whether or not they came from its begin; Dropped of them
	// were lost or, in a node, led to no publish. For the path as a whole, Begun that led to no end are Dropped.
	Begun   uint64 `report:"begun"`
	Dropped uint64 `report:"dropped"`
}

// PathHopInstance is one hop of one message that went all the way along a path. Instance numbers the messages of a path from 1.
type PathHopInstance struct {
	Path     string  `report:"path,detail"`
	Instance uint64  `report:"instance"`
	Hop      int     `report:"hop"`
	Kind     HopKind `report:"kind"`
	Name     string  `report:"name"`
	Begin    int64   `report:"begin_timestamp,time"`
	End      int64   `report:"end_timestamp,time"`
	Latency  int64   `report:"latency,duration"`
}

// FindPaths finds the paths that a text such as "[/talker]-[/chatter]-[/listener]" means: nodes and topics in turn, or a name that
// NamedPaths has. There are several where nodes share a name. It fails with ErrNoSuchName where the architecture has no such path.
func (a *Architecture) FindPaths(text string) ([]*Path, error) {
	for _, p := range a.NamedPaths {
		if p.Name == text {
			return []*Path{p}, nil
		}
	}
	names := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]"), "]-[")
	isNode := len(a.FindNodes(names[0])) > 0
	var paths []*Path
	var follow func(path []NodePath, i int)
	follow = func(path []NodePath, i int) {
		last := &path[len(path)-1]
		if i == len(names) {
			p := &Path{Nodes: slices.Clone(path)}
			p.setContexts()
			paths = append(paths, p)
			return
		}
		for _, publisher := range last.Node.Publishers {
			if publisher.TopicName != names[i] {
				continue
			}
			last.Publisher = publisher
			if i+1 == len(names) {
				follow(path, i+1)
			} else {
				for _, next := range a.FindNodes(names[i+1]) {
					for _, s := range next.Subscriptions {
						if s.TopicName == names[i] {
							follow(append(slices.Clone(path), NodePath{Node: next, Subscription: s}), i+2)
						}
					}
				}
			}
			last.Publisher = nil
		}
	}
	switch {
	case isNode:
		for _, n := range a.FindNodes(names[0]) {
			follow([]NodePath{{Node: n}}, 1)
		}
	case len(names) > 1:
		for _, n := range a.FindNodes(names[1]) {
			for _, s := range n.Subscriptions {
				if s.TopicName == names[0] {
					follow([]NodePath{{Node: n, Subscription: s}}, 2)
				}
			}
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: path %s; a path is [node]-[topic]-[node]", ErrNoSuchName, text)
	}
	return paths, nil
}

func (p *Path) setContexts() {
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Subscription != nil && n.Publisher != nil {
			n.Context = n.Node.Context(n.Subscription, n.Publisher)
		}
	}
}

// PathLatency answers how long messages took along paths and where the time went. latest takes nodes whose context is unknown for
// use_latest_message. each, if not nil, gets the hops of every message that went all the way.
func (q *Query) PathLatency(ctx context.Context, paths []*Path, latest bool, each func([]PathHopInstance) error) ([]PathHop, error) {
	t, err := q.trackPaths(ctx, paths, latest, each)
	if err != nil {
		return nil, err
	}
	var results []PathHop
	for _, p := range t.paths {
		results = append(results, p.results()...)
	}
	return results, nil
}

// trackPaths follows the messages of all paths.
func (q *Query) trackPaths(ctx context.Context, paths []*Path, latest bool, each func([]PathHopInstance) error) (*pathTracker, error) {
	t, err := newPathTracker(q, paths, latest, each)
	if err != nil {
		return nil, err
	}
	passages := newPassages(q, func(p *Publisher, s *Subscription) bool { return t.pairs[route{p, s}] != nil }, t.passed)
	wanted := t.wants()
	err = q.eachMessageWindow(ctx, wanted, func(w *messageWindow) error {
		passages.add(w)
		t.links.add(w)
		t.add(w)
		return t.instances.flush()
	})
	if err != nil {
		return nil, err
	}
	passages.end()
	t.links.end()
	t.complete(t.arrived, t.left)
	return t, t.instances.flush()
}

// pathTracker follows messages along paths. What came from what is noted at each message; when the last hop's window is past, the way
// is followed back from its end: every end has one way at most.
type pathTracker struct {
	query     *Query
	paths     []*trackedPath
	links     *links
	pairs     map[route]*hopCount
	inNodes   map[inNode]*hopCount
	ends      map[*Subscription][]*trackedPath
	endsOut   map[*Publisher][]*trackedPath
	begins    map[*Publisher][]*trackedPath
	beginsIn  map[*Subscription][]*trackedPath
	instances series[PathHopInstance]

	arrived []*arrival   // at the end of a path, in the last window
	left    []*departure // likewise
}

type inNode struct {
	subscription *Subscription
	publisher    *Publisher
}

// hopCount counts the messages of a hop, which several paths may share.
type hopCount struct {
	begun, dropped uint64
}

// trackedPath gathers the latencies of one path.
type trackedPath struct {
	*Path
	name   string
	hops   []*trackedHop
	total  distribution
	begun  uint64
	starts []int64 // begins of the path
	flows  []flow
}

type trackedHop struct {
	distribution
	kind  HopKind
	name  string
	count *hopCount
}

// input is what a message was made of, in a node where a subscription leads to it.
type input struct {
	subscription *Subscription
	arrival      *arrival
}

func newPathTracker(q *Query, paths []*Path, latest bool, each func([]PathHopInstance) error) (*pathTracker, error) {
	t := &pathTracker{
		query: q, links: newLinks(), pairs: make(map[route]*hopCount), inNodes: make(map[inNode]*hopCount), instances: series[PathHopInstance]{each: each},
		ends: make(map[*Subscription][]*trackedPath), endsOut: make(map[*Publisher][]*trackedPath),
		begins: make(map[*Publisher][]*trackedPath), beginsIn: make(map[*Subscription][]*trackedPath),
	}
	for _, p := range paths {
		if err := t.addPath(p, latest); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *pathTracker) addPath(p *Path, latest bool) error {
	tracked := &trackedPath{Path: p, name: cmp.Or(p.Name, p.String())}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if i > 0 {
			of := route{p.Nodes[i-1].Publisher, n.Subscription}
			if t.pairs[of] == nil {
				t.pairs[of] = new(hopCount)
			}
			tracked.hops = append(tracked.hops, &trackedHop{kind: HopCommunication, name: n.Subscription.TopicName, count: t.pairs[of]})
		}
		if n.Subscription == nil || n.Publisher == nil {
			continue
		}
		of := inNode{n.Subscription, n.Publisher}
		if t.inNodes[of] == nil {
			count := new(hopCount)
			context := n.Context
			if context == ContextUndefined && latest {
				context = ContextUseLatestMessage
			}
			if !t.links.connect(n.Node, n.Subscription, n.Publisher, context, func(l linked) { t.linked(of, count, l) }) {
				return fmt.Errorf("%w: nothing tells how %s gets from %s to %s in %s (context %s): name it in an architecture file, or take the latest message",
					ErrNothingSelected, tracked.name, n.Subscription.TopicName, n.Publisher.TopicName, n.Node.Name, n.Context)
			}
			t.inNodes[of] = count
		}
		tracked.hops = append(tracked.hops, &trackedHop{kind: HopNode, name: n.Node.Name, count: t.inNodes[of]})
	}
	if len(tracked.hops) == 0 {
		return fmt.Errorf("%w: path %s has no hop", ErrNothingSelected, tracked.name)
	}
	first, last := &p.Nodes[0], &p.Nodes[len(p.Nodes)-1]
	if first.Subscription != nil {
		t.beginsIn[first.Subscription] = append(t.beginsIn[first.Subscription], tracked)
	} else {
		t.begins[first.Publisher] = append(t.begins[first.Publisher], tracked)
	}
	if last.Publisher != nil {
		t.endsOut[last.Publisher] = append(t.endsOut[last.Publisher], tracked)
	} else {
		t.ends[last.Subscription] = append(t.ends[last.Subscription], tracked)
	}
	t.paths = append(t.paths, tracked)
	return nil
}

// wants says which messages the paths need.
func (t *pathTracker) wants() *wantedMessages {
	publishers, subscriptions := make(map[*Publisher]bool), make(map[*Subscription]bool)
	for _, p := range t.paths {
		for _, n := range p.Nodes {
			publishers[n.Publisher] = n.Publisher != nil
			subscriptions[n.Subscription] = n.Subscription != nil
		}
	}
	callback := func(c *Callback) bool { return t.links.byCallback[c] != nil }
	if len(t.links.byCallback) == 0 {
		callback = nil
	}
	return &wantedMessages{
		publisher:    func(p *Publisher) bool { return publishers[p] },
		subscription: func(s *Subscription) bool { return subscriptions[s] },
		callback:     callback,
	}
}

// passed notes what became of a message between two nodes; passages has set the arrival's from.
func (t *pathTracker) passed(p *passage) {
	if p.fate == Open || p.fate == Unknown || !t.query.filter.covers(p.departure.at) {
		return
	}
	count := t.pairs[route{p.departure.publisher, p.subscription}]
	count.begun++
	if p.fate == Lost {
		count.dropped++
	}
}

func (t *pathTracker) linked(of inNode, count *hopCount, l linked) {
	if t.query.filter.covers(l.input.start) {
		count.begun++
		if l.output == nil {
			count.dropped++
		}
	}
	if l.output != nil {
		l.output.inputs = append(l.output.inputs, input{of.subscription, l.input})
	}
}

// add notes the begins and ends of a window. Ends are followed a window later, when late arrivals have been joined.
func (t *pathTracker) add(w *messageWindow) {
	arrived, left := t.arrived, t.left
	t.arrived, t.left = nil, nil
	for _, d := range w.departures {
		for _, p := range t.begins[d.publisher] {
			p.begin(t.query, d.at)
		}
		if t.endsOut[d.publisher] != nil {
			t.left = append(t.left, d)
		}
	}
	for _, a := range w.arrivals {
		for _, p := range t.beginsIn[a.subscription] {
			p.begin(t.query, a.start)
		}
		if t.ends[a.subscription] != nil {
			t.arrived = append(t.arrived, a)
		}
	}
	t.complete(arrived, left)
}

func (p *trackedPath) begin(q *Query, at int64) {
	if q.filter.covers(at) {
		p.begun++
		p.starts = append(p.starts, at)
	}
}

// complete follows the ways that end there.
func (t *pathTracker) complete(arrived []*arrival, left []*departure) {
	for _, a := range arrived {
		for _, p := range t.ends[a.subscription] {
			t.completePath(p, p.times(a, nil))
		}
	}
	for _, d := range left {
		for _, p := range t.endsOut[d.publisher] {
			t.completePath(p, p.times(nil, d))
		}
	}
}

// times follows the way of a message back from its end and returns the times between the hops; nil where it did not come all the way.
func (p *trackedPath) times(a *arrival, d *departure) []int64 {
	times := make([]int64, len(p.hops)+1)
	at := len(p.hops)
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := &p.Nodes[i]
		if n.Publisher != nil {
			if d == nil || d.publisher != n.Publisher {
				return nil
			}
			times[at] = d.at
			at--
			if n.Subscription == nil {
				break
			}
			if a = d.input(n.Subscription); a == nil {
				return nil
			}
		}
		times[at] = a.start
		at--
		d = a.from
	}
	return times
}

func (d *departure) input(s *Subscription) *arrival {
	for _, in := range d.inputs {
		if in.subscription == s {
			return in.arrival
		}
	}
	return nil
}

func (t *pathTracker) completePath(p *trackedPath, times []int64) {
	if times == nil || !t.query.filter.covers(times[0]) {
		return
	}
	begin, end := times[0], times[len(times)-1]
	p.total.add(begin, end-begin)
	p.flows = append(p.flows, flow{begin, end})
	for i, hop := range p.hops {
		hop.add(times[i], times[i+1]-times[i])
	}
	if !t.instances.wanted() {
		return
	}
	instance := PathHopInstance{Path: p.name, Instance: p.total.count, Kind: HopPath, Name: p.name, Begin: begin, End: end, Latency: end - begin}
	t.instances.add(instance)
	for i, hop := range p.hops {
		instance.Hop, instance.Kind, instance.Name = i+1, hop.kind, hop.name
		instance.Begin, instance.End, instance.Latency = times[i], times[i+1], times[i+1]-times[i]
		t.instances.add(instance)
	}
}

func (p *trackedPath) results() []PathHop {
	used := make(map[int64]bool, len(p.flows))
	for _, f := range p.flows {
		used[f.begin] = true
	}
	total := PathHop{Path: p.name, Kind: HopPath, Name: p.name, Statistics: p.total.statistics(), Begun: p.begun}
	for _, at := range p.starts {
		if !used[at] {
			total.Dropped++
		}
	}
	results := []PathHop{total}
	for i, hop := range p.hops {
		results = append(results, PathHop{
			Path: p.name, Hop: i + 1, Kind: hop.kind, Name: hop.name, Statistics: hop.statistics(), Begun: hop.count.begun, Dropped: hop.count.dropped,
		})
	}
	return results
}
