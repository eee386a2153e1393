package analyze

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// pathTracker follows messages along paths. What came from what is noted at each message; when the last hop's window is
// past, the way is followed back from its end: every end has one way at most.
type pathTracker struct {
	query     *Query
	options   PathOptions
	paths     []*trackedPath
	links     *links
	pairs     map[route]*hopCount
	inNodes   map[inNode]*hopCount
	ends      map[*system.Subscription][]*trackedPath
	endsOut   map[*system.Publisher][]*trackedPath
	begins    map[*system.Publisher][]*trackedPath
	beginsIn  map[*system.Subscription][]*trackedPath
	completed func(*way) // gets the ways of each path in the order of their ends; they are reused

	room    slab[pathBegin]
	limit   int64        // of the last window
	arrived []*arrival   // at the end of a path, in the last window
	left    []*departure // likewise
	stops   *pathStops   // nil where nobody asks for them
}

// pathBegin is a message that set out on a path. It leads to those after it, so that only those are kept that may still
// matter.
type pathBegin struct {
	path    *trackedPath
	at      int64
	setOut  int64 // the message; later than at if the path begins with the callback that published it
	reached bool  // the end of the path
	told    bool  // PathFlows has passed it on
	next    *pathBegin
	also    *pathBegin // of another path, on which the same message set out
}

// way is the way of a message along a path.
type way struct {
	path  *trackedPath
	from  *pathBegin
	times []int64 // of the ends of its hops, after the begin
	// datasets are those that the times are of, and agreements how well the clocks of the way's ends, and of those of each
	// of its hops, agree: nil where there is one clock.
	datasets   []int
	agreements []ClockAgreement
}

func (w *way) begin() int64 { return w.times[0] }
func (w *way) end() int64   { return w.times[len(w.times)-1] }

// eachHop tells of the path as a whole and of its hops.
func (w *way) eachHop(tell func(PathHopInstance)) {
	p := w.path
	instance := PathHopInstance{
		Path: p.name, Instance: trace.Some(p.total.count), Kind: HopPath, Name: p.name, Fate: Received, PathBegin: trace.Some(w.begin()),
		Begin: w.begin(), End: trace.Some(w.end()), Latency: trace.Some(w.end() - w.begin()),
	}
	instance.ClockAgreement = w.agreement(0)
	tell(instance)
	for i, hop := range p.hops {
		instance.ClockAgreement = w.agreement(i + 1)
		instance.Hop, instance.Kind, instance.Name = i+1, hop.kind, hop.name
		instance.Begin, instance.End, instance.Latency = w.times[i], trace.Some(w.times[i+1]), trace.Some(w.times[i+1]-w.times[i])
		tell(instance)
	}
}

// agreement is that of a hop, which counts from 1, or of the whole way.
func (w *way) agreement(hop int) ClockAgreement {
	if w.agreements == nil {
		return ClockAgreement{}
	}
	return w.agreements[hop]
}

// judge finds how well the clocks agree.
func (w *way) judge(q *Query) {
	last := len(w.times) - 1
	w.agreements[0] = q.agreement(w.datasets[0], w.times[0], w.datasets[last], w.times[last])
	for i := range last {
		w.agreements[i+1] = q.agreement(w.datasets[i], w.times[i], w.datasets[i+1], w.times[i+1])
	}
}

type inNode struct {
	subscription *system.Subscription
	publisher    *system.Publisher
}

// hopCount counts the messages of a hop, which several paths may share.
type hopCount struct {
	messages, dropped uint64
}

// trackedPath gathers the latencies of one path.
type trackedPath struct {
	*system.Path
	name           string
	hops           []*trackedHop
	total          distribution
	agreement      clockAgreement
	begun, reached uint64     // begins, and those of them that led to an end
	last           *pathBegin // the newest
	way            way        // reused

	fromCallback, toCallback bool   // whether the first and the last callback are hops
	outside                  uint64 // messages that did not set out, because they were published outside of callbacks
	endless                  uint64 // ways that are left out, because the end of the last callback is not known
	early                    []*way // that may end before others that are not known yet
}

type trackedHop struct {
	distribution
	agreement clockAgreement
	kind      HopKind
	name      string
	context   system.ContextType
	count     *hopCount
	// subscription is where the message arrived, in front of or at the end of the hop; publisher is where it left the
	// node. They are nil where the hop has no such end.
	subscription *system.Subscription
	publisher    *system.Publisher
}

func newPathTracker(q *Query, paths []*system.Path, options PathOptions, completed func(*way)) (*pathTracker, error) {
	t := &pathTracker{
		query: q, options: options, links: newLinks(options.LinkOptions), limit: noTime, pairs: make(map[route]*hopCount), inNodes: make(map[inNode]*hopCount), completed: completed,
		ends: make(map[*system.Subscription][]*trackedPath), endsOut: make(map[*system.Publisher][]*trackedPath),
		begins: make(map[*system.Publisher][]*trackedPath), beginsIn: make(map[*system.Subscription][]*trackedPath),
	}
	for _, p := range paths {
		if !q.filter.path(p) {
			continue
		}
		if err := t.addPath(p); err != nil {
			return nil, err
		}
	}
	t.warnOfInferred()
	if len(t.paths) == 0 && len(paths) > 0 {
		return nil, fmt.Errorf("%w: of %d paths, none has a hop and leads through what the filters name", ErrNothingSelected, len(paths))
	}
	return t, nil
}

// warnOfInferred says through which nodes it is only inferred how messages get.
func (t *pathTracker) warnOfInferred() {
	var names []string
	for _, p := range t.paths {
		for _, n := range p.Nodes {
			if n.Context.IsInferred() && !slices.Contains(names, n.Node.Name) {
				names = append(names, n.Node.Name)
			}
		}
	}
	if len(names) > 0 {
		t.query.Warnings = append(t.query.Warnings, fmt.Sprintf("%s seems to make each message of the newest one of several inputs (context fused): that is inferred from when it published; an architecture file, or --no-fusion, says otherwise",
			strings.Join(names, ", ")))
	}
}

// warnOfCallbacks says what has no time from or to a callback.
func (t *pathTracker) warnOfCallbacks() {
	for _, p := range t.paths {
		if p.outside > 0 {
			t.query.Warnings = append(t.query.Warnings, fmt.Sprintf("%d messages did not set out on %s: they were published outside of callbacks, or before the recording saw the callback begin",
				p.outside, p.name))
		}
		if p.endless > 0 {
			t.query.Warnings = append(t.query.Warnings, fmt.Sprintf("%d ways along %s are left out: they end in a poll, or in a callback whose end was not recorded", p.endless, p.name))
		}
	}
}

func (t *pathTracker) addPath(p *system.Path) error {
	first, last := &p.Nodes[0], &p.Nodes[len(p.Nodes)-1]
	tracked := &trackedPath{
		Path: p, name: cmp.Or(p.Name, p.String()),
		fromCallback: t.options.FirstCallback && first.Subscription == nil, toCallback: t.options.LastCallback && last.Publisher == nil,
	}
	if tracked.fromCallback {
		tracked.addHop(&trackedHop{kind: HopNode, name: first.Node.Name, count: new(hopCount), publisher: first.Publisher})
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if i > 0 {
			of := route{p.Nodes[i-1].Publisher, n.Subscription}
			if t.pairs[of] == nil {
				t.pairs[of] = new(hopCount)
			}
			tracked.addHop(&trackedHop{kind: HopCommunication, name: n.Subscription.TopicName, count: t.pairs[of], subscription: n.Subscription})
		}
		if n.Subscription == nil || n.Publisher == nil {
			continue
		}
		of := inNode{n.Subscription, n.Publisher}
		context := t.links.contextOf(n.Context)
		if t.inNodes[of] == nil {
			count := new(hopCount)
			if context.IsNamedOnly() {
				return fmt.Errorf("%w: how %s gets from %s to %s in %s is not computed by the context %s that the architecture file names: name another one there",
					ErrNothingSelected, tracked.name, n.Subscription.TopicName, n.Publisher.TopicName, n.Node.Name, context)
			}
			if !t.links.connect(n.Node, n.Subscription, n.Publisher, context, func(l linked) { t.linked(of, count, l) }) {
				return fmt.Errorf("%w: nothing tells how %s gets from %s to %s in %s (context %s): name it in an architecture file, or take the latest message",
					ErrNothingSelected, tracked.name, n.Subscription.TopicName, n.Publisher.TopicName, n.Node.Name, n.Context)
			}
			t.inNodes[of] = count
		}
		tracked.addHop(&trackedHop{
			kind: HopNode, name: n.Node.Name, context: context, count: t.inNodes[of], subscription: n.Subscription, publisher: n.Publisher,
		})
	}
	if tracked.toCallback {
		tracked.addHop(&trackedHop{kind: HopNode, name: last.Node.Name, count: new(hopCount), subscription: last.Subscription})
	}
	if len(tracked.hops) == 0 {
		t.query.Warnings = append(t.query.Warnings, fmt.Sprintf("path %s is left out: it has no hop", tracked.name))
		return nil
	}
	tracked.way = way{path: tracked, times: make([]int64, len(tracked.hops)+1)}
	if len(t.query.hosts.list) > 1 {
		tracked.way.datasets, tracked.way.agreements = make([]int, len(tracked.hops)+1), make([]ClockAgreement, len(tracked.hops)+1)
	}
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

func (p *trackedPath) addHop(hop *trackedHop) { p.hops = append(p.hops, hop) }

// track follows the messages of all paths. after is called after each window of time and at the end.
func (t *pathTracker) track(ctx context.Context, after func() error) error {
	passages := newPassages(t.query, func(p *system.Publisher, s *system.Subscription) bool { return t.pairs[route{p, s}] != nil }, t.passed)
	err := t.query.eachMessageWindow(ctx, t.wants(), func(w *messageWindow) error {
		// What passes between nodes and what happens in them are noted at different ends of the messages.
		var inNodes sync.WaitGroup
		inNodes.Go(func() { t.links.add(w) })
		passages.add(w)
		inNodes.Wait()
		t.add(w)
		return after()
	})
	if err != nil {
		return err
	}
	passages.end()
	t.links.end()
	t.limit = math.MaxInt64
	t.complete(t.arrived, t.left)
	t.stops.tellOfLast()
	t.stops.tellOfLast()
	t.warnOfCallbacks()
	return after()
}

// wants says which messages the paths need.
func (t *pathTracker) wants() *wantedMessages {
	publishers, subscriptions := make(map[*system.Publisher]bool), make(map[*system.Subscription]bool)
	for _, p := range t.paths {
		for _, n := range p.Nodes {
			publishers[n.Publisher] = n.Publisher != nil
			subscriptions[n.Subscription] = n.Subscription != nil
		}
	}
	callback := func(c *system.Callback) bool { return t.links.byCallback[c] != nil }
	if len(t.links.byCallback) == 0 {
		callback = nil
	}
	return &wantedMessages{
		publisher:    func(p *system.Publisher) bool { return publishers[p] },
		subscription: func(s *system.Subscription) bool { return subscriptions[s] },
		callback:     callback,
		known:        true,
	}
}

// passed notes what became of a message between two nodes; passages has set the arrival's from.
func (t *pathTracker) passed(p passage) {
	t.stops.onTheWay(p)
	if p.fate == Open || p.fate == Unknown || !t.query.filter.covers(p.departure.at) {
		return
	}
	count := t.pairs[route{p.departure.publisher, p.subscription}]
	count.messages++
	if p.fate == Lost {
		count.dropped++
	}
}

func (t *pathTracker) linked(of inNode, count *hopCount, l linked) {
	if l.input == nil {
		return
	}
	t.stops.inNode(of, l)
	if t.query.filter.covers(l.input.start) && !l.again {
		count.messages++
		if l.output == nil {
			count.dropped++
		}
	}
	if l.output != nil {
		l.output.addInput(l.input)
	}
}

// add notes the begins and ends of a window. Ends are followed a window later, when late arrivals have been joined, and
// so are losses.
func (t *pathTracker) add(w *messageWindow) {
	arrived, left := t.arrived, t.left
	t.arrived, t.left = nil, nil
	for _, d := range w.departures {
		for _, p := range t.begins[d.publisher] {
			t.setOut(p, d)
		}
		if t.endsOut[d.publisher] != nil {
			t.left = append(t.left, d)
		}
	}
	for _, a := range w.arrivals {
		for _, p := range t.beginsIn[a.subscription] {
			a.begins = t.begin(p, a.start, a.start, a.begins)
		}
		if t.ends[a.subscription] != nil {
			t.arrived = append(t.arrived, a)
		}
		for _, p := range t.ends[a.subscription] {
			if p.toCallback && t.query.filter.covers(a.start) {
				p.hops[len(p.hops)-1].count.messages++
			}
		}
	}
	t.complete(arrived, left)
	t.stops.tellOfLast()
	t.limit = w.limit
}

// setOut notes that a message sets out on a path.
func (t *pathTracker) setOut(p *trackedPath, d *departure) {
	switch {
	case !p.fromCallback:
		d.begins = t.begin(p, d.at, d.at, d.begins)
	case d.callback != nil:
		begins := t.begin(p, d.start, d.at, d.begins)
		if begins != d.begins {
			p.hops[0].count.messages++
		}
		d.begins = begins
	case t.query.filter.covers(d.at):
		p.outside++
	}
}

// begin puts the begin of a path before others of the same message if it is asked for.
func (t *pathTracker) begin(p *trackedPath, at, setOut int64, begins *pathBegin) *pathBegin {
	if !t.query.filter.covers(at) {
		return begins
	}
	b := t.room.new()
	*b = pathBegin{path: p, at: at, setOut: setOut, also: begins}
	if p.last != nil {
		p.last.next = b
	}
	p.last = b
	p.begun++
	return b
}

// complete follows the ways that end there.
func (t *pathTracker) complete(arrived []*arrival, left []*departure) {
	for _, a := range arrived {
		for _, p := range t.ends[a.subscription] {
			if w := p.follow(a, nil); w != nil {
				t.completeAt(a, w)
			}
		}
	}
	for _, d := range left {
		for _, p := range t.endsOut[d.publisher] {
			if w := p.follow(nil, d); w != nil {
				t.completePath(w)
			}
		}
	}
	for _, p := range t.paths {
		t.completeEarly(p)
	}
}

// completeAt completes a way that leads to an arrival. If the callback that the message started is on it, others may
// end before.
func (t *pathTracker) completeAt(a *arrival, w *way) {
	p := w.path
	switch {
	case !p.toCallback:
		t.completePath(w)
	case a.polled || a.end == noTime:
		p.endless++
	default:
		w.times[len(w.times)-1] = a.end
		if w.datasets != nil {
			w.datasets[len(w.datasets)-1] = a.dataset
		}
		p.early = append(p.early, &way{path: p, from: w.from, times: slices.Clone(w.times), datasets: slices.Clone(w.datasets), agreements: slices.Clone(w.agreements)})
	}
}

// completeEarly completes the ways of a path that end before all that are not known yet.
func (t *pathTracker) completeEarly(p *trackedPath) {
	slices.SortStableFunc(p.early, func(a, b *way) int { return cmp.Compare(a.end(), b.end()) })
	done := 0
	for ; done < len(p.early) && p.early[done].end() < t.limit; done++ {
		t.completePath(p.early[done])
	}
	p.early = slices.Delete(p.early, 0, done)
}

// follow follows the way of a message back from its end; it returns nil where it did not come all the way, or from a
// begin that is not asked for. The end of a last callback is left open.
func (p *trackedPath) follow(a *arrival, d *departure) *way {
	w := &p.way
	at := len(p.hops)
	if p.toCallback {
		at--
	}
	if w.from = p.followBack(len(p.Nodes)-1, a, d, w.times[:at+1], w.datasets); w.from == nil {
		return nil
	}
	if p.fromCallback {
		w.times[0] = w.from.at
		if w.datasets != nil {
			w.datasets[0] = w.datasets[1]
		}
	}
	return w
}

// followBack follows a message back from the node of that index, where it arrived or was published, to its begin; nil
// where it has none that is asked for. times get when it passed the hops, from the last on, and datasets, if not nil,
// who has recorded that.
func (p *trackedPath) followBack(node int, a *arrival, d *departure, times []int64, datasets []int) *pathBegin {
	var begins *pathBegin
	at := len(times) - 1
	for i := node; i >= 0; i-- {
		n := &p.Nodes[i]
		if d != nil || a == nil {
			if d == nil || d.publisher != n.Publisher {
				return nil
			}
			times[at] = d.at
			if datasets != nil {
				datasets[at] = d.dataset
			}
			at--
			if n.Subscription == nil {
				begins = d.begins
				break
			}
			if a = d.input(n.Subscription); a == nil {
				return nil
			}
		}
		times[at] = a.start
		if datasets != nil {
			datasets[at] = a.dataset
		}
		at--
		d, begins = a.from, a.begins
		a = nil
	}
	for b := begins; b != nil; b = b.also {
		if b.path == p {
			return b
		}
	}
	return nil
}

func (d *departure) addInput(a *arrival) {
	if d.inputs == nil {
		d.inputs = d.one[:0]
	}
	d.inputs = append(d.inputs, a)
}

// input returns the message of a subscription that the message was made of; nil where there is none.
func (d *departure) input(s *system.Subscription) *arrival {
	for _, in := range d.inputs {
		if in.subscription == s {
			return in
		}
	}
	return nil
}

func (t *pathTracker) completePath(w *way) {
	p := w.path
	if !w.from.reached {
		w.from.reached = true
		p.reached++
	}
	p.total.add(w.begin(), w.end()-w.begin())
	if w.datasets != nil {
		w.judge(t.query)
		p.agreement.add(w.agreement(0))
	}
	for i, hop := range p.hops {
		hop.add(w.times[i], w.times[i+1]-w.times[i])
		hop.agreement.add(w.agreement(i + 1))
	}
	t.completed(w)
}

// results are those of all paths.
func (t *pathTracker) results(ctx context.Context) (results []PathHop, err error) {
	for _, p := range t.paths {
		hops, err := p.results(ctx)
		if err != nil {
			return nil, err
		}
		results = append(results, hops...)
	}
	return results, nil
}

func (p *trackedPath) results(ctx context.Context) ([]PathHop, error) {
	results := make([]PathHop, 1+len(p.hops))
	// Ranking the latencies of a hop takes long, and hops do not depend on each other.
	err := scan.InParallel(ctx, len(results), func(_ context.Context, _, i int) error {
		if i == 0 {
			results[i] = PathHop{Path: p.name, Kind: HopPath, Name: p.name, Statistics: p.total.statistics(), Messages: p.begun, Dropped: p.begun - p.reached, ClockAgreement: p.agreement.worst}
			return nil
		}
		hop := p.hops[i-1]
		results[i] = PathHop{
			Path: p.name, Hop: i, Kind: hop.kind, Name: hop.name, Context: hop.context, Statistics: hop.statistics(),
			Messages: hop.count.messages, Dropped: hop.count.dropped, ClockAgreement: hop.agreement.worst,
		}
		return nil
	})
	return results, err
}
