package analyze

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// JoinedBy says what showed that a publish and a take are of one message.
type JoinedBy string

const (
	// JoinedByGID is the gid of the publisher and the source timestamp.
	JoinedByGID JoinedBy = "gid"
	// JoinedByTopic is the topic and the source timestamp: the take does not tell the publisher. Publishers that gave the same timestamp
	// to two messages of one topic cannot be told apart.
	JoinedByTopic JoinedBy = "topic"
	// JoinedByBuffer is the slot of an intra-process buffer.
	JoinedByBuffer JoinedBy = "buffer"
)

// Fate says what became of a message on its way to one subscription.
type Fate string

const (
	// Received: it started the callback, or was polled.
	Received Fate = "received"
	// Lost: a later message of its publisher was received, or another one overwrote it in its intra-process buffer. (Middlewares and
	// buffers keep the order.)
	Lost Fate = "lost"
	// Open: neither it nor a later message was received before the recording ended.
	Open Fate = "open"
	// Unknown: its source timestamp or its slot was not observed.
	Unknown Fate = "unknown"
)

// passage is the way of one message to one subscription.
type passage struct {
	departure    *departure
	subscription *Subscription
	fate         Fate
	arrival      *arrival // of a received one
	joinedBy     JoinedBy
	enqueued     int64 // when it was put into the intra-process buffer; noTime for what went through the middleware
}

// passages pairs publishes with takes and callbacks, window after window: each message once with each subscription of its topic.
type passages struct {
	query   *Query
	include func(*Publisher, *Subscription) bool
	// emit gets each passage once: received ones when they were, lost ones when that is certain.
	emit func(*passage)

	byTopic map[string][]*Subscription
	byGID   map[string][]*Publisher
	known   map[*Subscription]bool // those of byTopic
	flights map[*Subscription][]*flightQueue
	queues  map[route]*flightQueue
	ordered []*flightQueue // in the order in which they were made
	routes  map[*Publisher][]*Subscription
	buffers map[*Subscription]*slots
	numbers map[publishNumber]*departure
	retry   []*arrival // that came before their publish: the clocks of two hosts differ
}

type route struct {
	publisher    *Publisher
	subscription *Subscription
}

// flightQueue are the messages of one publisher that are on their way to one subscription, in the order of source timestamps.
type flightQueue struct {
	route
	flights []flight
	// overtaken are those at the begin that had been received or overtaken when the last window ended.
	overtaken int
	// receivedAt is when the newest one that has been received was published; noTime before the first.
	receivedAt int64
}

type flight struct {
	departure *departure
	received  bool
}

// slots is what an intra-process ring buffer holds, by index.
type slots struct {
	held map[uint64]*passage
}

func newPassages(q *Query, include func(*Publisher, *Subscription) bool, emit func(*passage)) *passages {
	p := &passages{
		query: q, include: include, emit: emit,
		byTopic: make(map[string][]*Subscription), byGID: make(map[string][]*Publisher), known: make(map[*Subscription]bool),
		flights: make(map[*Subscription][]*flightQueue), queues: make(map[route]*flightQueue), routes: make(map[*Publisher][]*Subscription),
		buffers: make(map[*Subscription]*slots), numbers: make(map[publishNumber]*departure),
	}
	for _, n := range q.Architecture.Nodes {
		for _, s := range n.Subscriptions {
			p.learn(s)
		}
		for _, publisher := range n.Publishers {
			if publisher.GID != "" {
				p.byGID[publisher.GID] = append(p.byGID[publisher.GID], publisher)
			}
		}
	}
	return p
}

// learn makes a subscription known, from when on messages are on their way to it.
func (p *passages) learn(s *Subscription) {
	if !p.known[s] && s.TopicName != "" {
		p.known[s] = true
		p.byTopic[s.TopicName] = append(p.byTopic[s.TopicName], s)
		clear(p.routes)
	}
}

// add pairs what happened in a window.
func (p *passages) add(w *messageWindow) {
	for _, a := range w.arrivals {
		if a.subscription != nil {
			p.learn(a.subscription)
		}
	}
	for _, d := range w.departures {
		p.depart(d)
	}
	var middleware []*arrival
	next := 0
	for _, a := range intraProcess(w.arrivals, &middleware) {
		for next < len(w.enqueues) && w.enqueues[next].at <= a.arrived() {
			p.enqueue(w.enqueues[next])
			next++
		}
		p.dequeue(a)
	}
	for _, e := range w.enqueues[next:] {
		p.enqueue(e)
	}
	slices.SortStableFunc(middleware, func(a, b *arrival) int { return cmp.Compare(a.arrived(), b.arrived()) })
	retry := p.retry
	p.retry = nil
	for _, a := range retry {
		p.arrive(a)
	}
	for _, a := range middleware {
		if !p.arrive(a) {
			p.retry = append(p.retry, a)
		}
	}
	p.settle()
}

// intraProcess returns those that came through intra-process buffers, in the order of their dequeue, and appends the others to middleware.
func intraProcess(arrivals []*arrival, middleware *[]*arrival) []*arrival {
	var intra []*arrival
	for _, a := range arrivals {
		switch {
		case a.subscription == nil:
		case a.dequeue.Valid:
			intra = append(intra, a)
		case a.source.Valid:
			*middleware = append(*middleware, a)
		}
	}
	slices.SortStableFunc(intra, func(a, b *arrival) int { return cmp.Compare(a.arrived(), b.arrived()) })
	return intra
}

// subscriptionsOf returns the subscriptions that a publisher's messages go to.
func (p *passages) subscriptionsOf(publisher *Publisher) []*Subscription {
	subscriptions, ok := p.routes[publisher]
	if !ok {
		for _, s := range p.byTopic[publisher.TopicName] {
			if p.include(publisher, s) {
				subscriptions = append(subscriptions, s)
			}
		}
		p.routes[publisher] = subscriptions
	}
	return subscriptions
}

func (p *passages) depart(d *departure) {
	for _, s := range p.subscriptionsOf(d.publisher) {
		// rclcpp hands messages to subscriptions of the process through buffers, and its rmw layer ignores local publishers then.
		if d.intra != noTime && s.Buffer != 0 && s.Node.Process == d.publisher.Node.Process {
			continue
		}
		if d.rcl == noTime && d.rmw == noTime && !d.source.Valid {
			continue // only for buffers
		}
		if !d.source.Valid {
			if p.livedAt(s, d) {
				p.emit(&passage{departure: d, subscription: s, fate: Unknown, enqueued: noTime})
			}
			continue
		}
		p.queue(route{d.publisher, s}).push(d)
	}
	if d.enqueues > 0 {
		p.numbers[d.number] = d
	}
}

func (p *passages) queue(r route) *flightQueue {
	q := p.queues[r]
	if q == nil {
		q = &flightQueue{route: r, receivedAt: noTime}
		p.queues[r] = q
		p.ordered = append(p.ordered, q)
		p.flights[r.subscription] = append(p.flights[r.subscription], q)
	}
	return q
}

// lastReceived is the index of the last message that has been received, -1 if none has.
func (q *flightQueue) lastReceived() int {
	for i, f := range slices.Backward(q.flights) {
		if f.received {
			return i
		}
	}
	return -1
}

// push keeps the order: threads that share a publisher may overtake each other.
func (q *flightQueue) push(d *departure) {
	q.flights = append(q.flights, flight{departure: d})
	for i := len(q.flights) - 1; i > 0 && q.flights[i-1].departure.source.Value > d.source.Value; i-- {
		q.flights[i-1], q.flights[i] = q.flights[i], q.flights[i-1]
	}
}

// find returns the flight with the source timestamp that was not received; −1 where there is none. A timestamp comes again where the clock
// is coarse or was set back: then the first that was published after what has been received, else the first.
func (q *flightQueue) find(source int64) int {
	found := -1
	i, _ := slices.BinarySearchFunc(q.flights, source, func(f flight, source int64) int { return cmp.Compare(f.departure.source.Value, source) })
	for ; i < len(q.flights) && q.flights[i].departure.source.Value == source; i++ {
		switch f := &q.flights[i]; {
		case f.received:
		case f.departure.at > q.receivedAt:
			return i
		case found < 0:
			found = i
		}
	}
	return found
}

// arrive finds the publish of a message that came through the middleware.
func (p *passages) arrive(a *arrival) bool {
	joined := JoinedByTopic
	var named []*Publisher
	if a.gid != "" {
		named = p.byGID[a.gid]
	}
	for _, q := range p.flights[a.subscription] {
		if len(named) > 0 && !slices.Contains(named, q.publisher) || len(named) == 0 && a.gid != "" && q.publisher.GID != "" {
			continue
		}
		i := q.find(a.source.Value)
		if i < 0 {
			continue
		}
		if len(named) > 0 {
			joined = JoinedByGID
		}
		q.flights[i].received = true
		a.from = q.flights[i].departure
		q.receivedAt = max(q.receivedAt, a.from.at)
		p.emit(&passage{departure: a.from, subscription: a.subscription, fate: Received, arrival: a, joinedBy: joined, enqueued: noTime})
		return true
	}
	return false
}

// settle gives up the flights that later ones of their publisher have overtaken in this window or before.
func (p *passages) settle() {
	for _, q := range p.ordered {
		last := q.lastReceived()
		if last < 0 {
			continue
		}
		// Threads that take at the same time may be seen in the wrong order: what was overtaken in this window may still come in the next.
		done := min(q.overtaken, last+1)
		for _, f := range q.flights[:done] {
			if !f.received {
				p.lose(f.departure, q.subscription, Lost)
			}
		}
		q.flights = slices.Delete(q.flights, 0, done)
		q.overtaken = last + 1 - done
	}
}

func (p *passages) lose(d *departure, s *Subscription, fate Fate) {
	if p.livedAt(s, d) {
		p.emit(&passage{departure: d, subscription: s, fate: fate, enqueued: noTime})
	}
}

// livedAt tells whether the subscription was there when the message was published: then it should have got it.
func (p *passages) livedAt(s *Subscription, d *departure) bool {
	return s.Life.Contains(d.at)
}

func (p *passages) enqueue(e *enqueue) {
	p.learn(e.subscription)
	b := p.buffers[e.subscription]
	if b == nil {
		b = &slots{held: make(map[uint64]*passage)}
		p.buffers[e.subscription] = b
	}
	if former := b.held[e.index]; former != nil {
		former.fate = Lost
		p.emitEnqueued(former)
	}
	now := &passage{subscription: e.subscription, fate: Open, joinedBy: JoinedByBuffer, enqueued: e.at}
	if d := p.numbers[e.number]; d != nil && e.published {
		now.departure = d
		if d.enqueues--; d.enqueues == 0 {
			delete(p.numbers, e.number)
		}
	}
	b.held[e.index] = now
}

// emitEnqueued passes on what the query asks for: a message whose publish was not seen has no begin.
func (p *passages) emitEnqueued(of *passage) {
	if of.departure != nil && p.include(of.departure.publisher, of.subscription) {
		p.emit(of)
	}
}

func (p *passages) dequeue(a *arrival) {
	b := p.buffers[a.subscription]
	if b == nil {
		return
	}
	held := b.held[a.dequeue.Value]
	if held == nil {
		return
	}
	delete(b.held, a.dequeue.Value)
	held.fate, held.arrival = Received, a
	a.from = held.departure
	p.emitEnqueued(held)
}

// end settles what is still on its way.
func (p *passages) end() {
	for _, q := range p.ordered {
		last := q.lastReceived()
		for i, f := range q.flights {
			switch {
			case f.received:
			case i < last:
				p.lose(f.departure, q.subscription, Lost)
			default:
				p.lose(f.departure, q.subscription, Open)
			}
		}
		q.flights = nil
	}
	var left []*passage
	for _, b := range p.buffers {
		for _, held := range b.held {
			left = append(left, held)
		}
	}
	slices.SortFunc(left, func(a, b *passage) int { return cmp.Compare(a.enqueued, b.enqueued) })
	for _, held := range left {
		p.emitEnqueued(held)
	}
}

// latency is from the publish to the callback's start or the poll; null where it was not received.
func (of *passage) latency() trace.Optional[int64] {
	if of.arrival == nil {
		return trace.Optional[int64]{}
	}
	return trace.Some(of.arrival.start - of.departure.at)
}
