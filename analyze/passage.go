package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// JoinedBy says what showed that a publish and a take are of one message.
type JoinedBy string

const (
	// JoinedByGID is the gid of the publisher and the source timestamp.
	JoinedByGID JoinedBy = "gid"
	// JoinedByTopic is the topic and the source timestamp: the take does not tell the publisher. Publishers that gave the
	// same timestamp to two messages of one topic cannot be told apart.
	JoinedByTopic JoinedBy = "topic"
	// JoinedByBuffer is the slot of an intra-process buffer.
	JoinedByBuffer JoinedBy = "buffer"
)

// Fate says what became of a message on its way to one subscription.
type Fate string

const (
	// Received: it started the callback, or was polled.
	Received Fate = "received"
	// Lost: a later message of its publisher was received, or another one overwrote it in its intra-process buffer.
	// (Middlewares and buffers keep the order.)
	Lost Fate = "lost"
	// Open: neither it nor a later message was received before the recording ended.
	Open Fate = "open"
	// Unknown: its source timestamp was not observed, or its slot is not certain.
	Unknown Fate = "unknown"
	// Unused: it was received, and led to no publish of the node. Only messages on paths have this fate.
	Unused Fate = "unused"
)

// passage is the way of one message to one subscription.
type passage struct {
	departure    *departure
	subscription *system.Subscription
	fate         Fate
	arrival      *arrival // of a received one
	joinedBy     JoinedBy
	enqueued     int64 // when it was put into the intra-process buffer; noTime for what went through the middleware
}

// passages pairs publishes with takes and callbacks, window after window: each message once with each subscription of
// its topic.
type passages struct {
	query   *Query
	include func(*system.Publisher, *system.Subscription) bool
	// emit gets each passage once: received ones when they were, lost ones when that is certain.
	emit func(passage)

	byTopic map[string][]*system.Subscription
	byGID   map[string][]*system.Publisher
	known   map[*system.Subscription]bool // those of byTopic
	inbound map[*system.Subscription]*inbound
	queues  map[route]*flightQueue
	ordered []*flightQueue // in the order in which they were made
	outlets map[*system.Publisher]*outletsOf
	buffers map[*system.Subscription]*slots
	numbers map[publishNumber]*departure
	retry   []*arrival // that came before their publish: the clocks of two hosts differ
	tied    []*arrival // that were taken out of a buffer when the next message was put there

	intra, middleware []timed[arrival] // room for those of a window
}

type route struct {
	publisher    *system.Publisher
	subscription *system.Subscription
}

func newPassages(q *Query, include func(*system.Publisher, *system.Subscription) bool, emit func(passage)) *passages {
	p := &passages{
		query: q, include: include, emit: emit,
		byTopic: make(map[string][]*system.Subscription), byGID: make(map[string][]*system.Publisher), known: make(map[*system.Subscription]bool),
		inbound: make(map[*system.Subscription]*inbound), queues: make(map[route]*flightQueue), outlets: make(map[*system.Publisher]*outletsOf),
		buffers: make(map[*system.Subscription]*slots), numbers: make(map[publishNumber]*departure),
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
func (p *passages) learn(s *system.Subscription) {
	if !p.known[s] && s.TopicName != "" {
		p.known[s] = true
		p.byTopic[s.TopicName] = append(p.byTopic[s.TopicName], s)
		for _, of := range p.outlets {
			of.former = true
		}
		clear(p.outlets)
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
	p.intra, p.middleware = byTransport(w.arrivals, p.intra[:0], p.middleware[:0])
	intra, middleware := p.intra, p.middleware
	tied := p.tied
	p.tied = nil
	next := 0
	for _, a := range intra {
		for next < len(w.enqueues) && w.enqueues[next].at <= a.at {
			p.enqueue(w.enqueues[next])
			next++
		}
		p.dequeue(a.event)
	}
	for _, e := range w.enqueues[next:] {
		p.enqueue(e)
	}
	p.resolveTies(tied)
	retry := p.retry
	p.retry = nil
	for _, a := range retry {
		p.arrive(a)
	}
	for _, a := range middleware {
		if !p.arrive(a.event) {
			p.retry = append(p.retry, a.event)
		}
	}
	clear(intra)
	clear(middleware)
	p.settle()
	p.giveUpOverwritten(p.overwrittenBefore(w.limit - int64(takenPatience)))
}

// overwrittenBefore returns an instant, or the first one before that at which it is not told yet what was taken.
func (p *passages) overwrittenBefore(at int64) int64 {
	for _, a := range p.tied {
		at = min(at, a.take)
	}
	return at
}

// byTransport returns the messages that came through intra-process buffers and those that came through the middleware,
// in the order in which they were there, appended to lists without any.
func byTransport(arrivals []*arrival, intra, middleware []timed[arrival]) (_, _ []timed[arrival]) {
	for _, a := range arrivals {
		switch {
		case a.subscription == nil:
		case a.intra:
			intra = append(intra, timed[arrival]{a.arrived(), a})
		case a.source.Valid:
			middleware = append(middleware, timed[arrival]{a.arrived(), a})
		}
	}
	sortByTime(intra)
	sortByTime(middleware)
	return intra, middleware
}

// outlet is a subscription that a publisher's messages go to.
type outlet struct {
	subscription *system.Subscription
	queue        *flightQueue // nil until a message went there through the middleware
}

// outletsOf is where a publisher's messages go to. It is former when another subscription became known.
type outletsOf struct {
	outlets []outlet
	former  bool
}

// outletsOf returns where a message goes to.
func (p *passages) outletsOf(d *departure) []outlet {
	if d.outlets != nil && !d.outlets.former {
		return d.outlets.outlets
	}
	of := p.outlets[d.publisher]
	if of == nil {
		of = new(outletsOf)
		for _, s := range p.byTopic[d.publisher.TopicName] {
			if p.include(d.publisher, s) {
				of.outlets = append(of.outlets, outlet{subscription: s})
			}
		}
		p.outlets[d.publisher] = of
	}
	d.outlets = of
	return of.outlets
}

func (p *passages) depart(d *departure) {
	outlets := p.outletsOf(d)
	for i := range outlets {
		s := outlets[i].subscription
		// rclcpp hands messages to subscriptions of the process through buffers, and its rmw layer ignores local publishers
		// then.
		if d.intra != noTime && s.Buffer != 0 && s.Node.Process == d.publisher.Node.Process {
			continue
		}
		if d.rcl == noTime && d.rmw == noTime && !d.source.Valid {
			continue // only for buffers
		}
		if !d.source.Valid {
			if p.livedAt(s, d) {
				p.emit(passage{departure: d, subscription: s, fate: Unknown, enqueued: noTime})
			}
			continue
		}
		if outlets[i].queue == nil {
			outlets[i].queue = p.queue(route{d.publisher, s})
		}
		outlets[i].queue.push(d)
	}
	if d.enqueues > 0 {
		p.numbers[d.number] = d
	}
}

func (p *passages) queue(r route) *flightQueue {
	q := p.queues[r]
	if q == nil {
		q = newFlightQueue(r)
		p.queues[r] = q
		p.ordered = append(p.ordered, q)
		if p.inbound[r.subscription] == nil {
			p.inbound[r.subscription] = new(inbound)
		}
		to := p.inbound[r.subscription]
		to.queues = append(to.queues, q)
	}
	return q
}

// arrive finds the publish of a message that came through the middleware.
func (p *passages) arrive(a *arrival) bool {
	to := p.inbound[a.subscription]
	if to == nil {
		return false
	}
	joined := JoinedByTopic
	named := to.publishersOf(a.gid, p.byGID)
	for _, q := range to.queues {
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
		a.from = q.receive(i)
		p.emit(passage{departure: a.from, subscription: a.subscription, fate: Received, arrival: a, joinedBy: joined, enqueued: noTime})
		return true
	}
	return false
}

// settle gives up the flights that later ones of their publisher have overtaken in this window or before, and those
// that nobody receives.
func (p *passages) settle() {
	for _, q := range p.ordered {
		q.giveUp(func(d *departure, fate Fate) { p.lose(d, q.subscription, fate) })
	}
}

func (p *passages) lose(d *departure, s *system.Subscription, fate Fate) {
	if p.livedAt(s, d) {
		p.emit(passage{departure: d, subscription: s, fate: fate, enqueued: noTime})
	}
}

// livedAt tells whether the subscription was there when the message was published: then it should have got it.
func (p *passages) livedAt(s *system.Subscription, d *departure) bool {
	return p.query.lifeOf(s).Contains(d.at)
}

func (p *passages) enqueue(e *enqueue) {
	p.learn(e.subscription)
	b := p.buffers[e.subscription]
	if b == nil {
		b = &slots{new: e.subscription.Life.Init.Valid}
		p.buffers[e.subscription] = b
	}
	now := enqueued{held: true, at: e.at, tid: e.number.tid, overwritten: e.overwritten}
	if d := p.numbers[e.number]; d != nil && e.published {
		now.departure = d
		if d.enqueues--; d.enqueues == 0 {
			delete(p.numbers, e.number)
		}
	}
	takenBefore := e.taken && b.unattributed > 0
	b.unattributed = 0
	if !e.index.Valid {
		// It may be in any slot, in place of what is believed to be there.
		for _, held := range b.empty() {
			p.emitEnqueued(e.subscription, held, Unknown, nil)
		}
	}
	if !e.index.Valid || takenBefore {
		p.emitEnqueued(e.subscription, now, Unknown, nil)
		now = enqueued{vacant: true}
	}
	if !e.index.Valid {
		return
	}
	b.put(e.index.Value, now)
}

// takenPatience is how long after a message was taken out of a buffer its callback may start. Windows are in the order
// of starts: the one in which it starts may be a later one than that in which another message got the slot.
const takenPatience = 10 * time.Second

// giveUpOverwritten passes on what was overwritten before an instant. What was not, somebody has taken who was not
// recorded.
func (p *passages) giveUpOverwritten(before int64) {
	var lost []leftIn
	for subscription, b := range p.buffers {
		for _, e := range b.overwritten(before) {
			e.doubtful = e.doubtful || e.by.Valid && !e.by.Value
			lost = append(lost, leftIn{subscription, e.enqueued})
		}
	}
	p.giveUpEnqueued(lost, Lost)
}

// leftIn is a message in a subscription's buffer that nobody is known to have taken.
type leftIn struct {
	subscription *system.Subscription
	enqueued
}

// giveUpEnqueued passes messages on in the order in which they came, with a fate or, if they may have been received,
// without one.
func (p *passages) giveUpEnqueued(messages []leftIn, fate Fate) {
	slices.SortFunc(messages, func(a, b leftIn) int { return cmp.Compare(a.at, b.at) })
	for _, m := range messages {
		if m.doubtful {
			p.emitEnqueued(m.subscription, m.enqueued, Unknown, nil)
		} else {
			p.emitEnqueued(m.subscription, m.enqueued, fate, nil)
		}
	}
}

// emitEnqueued passes on what the query asks for, once: a message whose publish was not seen has no begin.
func (p *passages) emitEnqueued(s *system.Subscription, of enqueued, fate Fate, a *arrival) {
	if !of.open && of.departure != nil && p.include(of.departure.publisher, s) {
		p.emit(passage{departure: of.departure, subscription: s, fate: fate, arrival: a, joinedBy: JoinedByBuffer, enqueued: of.at})
	}
}

func (p *passages) dequeue(a *arrival) {
	b := p.buffers[a.subscription]
	if b == nil {
		return
	}
	if !a.dequeue.Valid {
		b.doubt(a.take)
		return
	}
	switch held := b.heldAt(a.dequeue.Value, a.take); len(held) {
	case 0:
	case 1:
		p.receiveEnqueued(b, held[0], a)
	default:
		p.tied = append(p.tied, a)
	}
}

// receiveEnqueued notes that a message was taken out of a buffer.
func (p *passages) receiveEnqueued(b *slots, held superseded, a *arrival) {
	b.remove(held)
	if !held.open {
		a.from = held.departure
	}
	p.emitEnqueued(a.subscription, held.enqueued, Received, a)
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
	p.resolveTies(p.tied)
	p.giveUpOverwritten(math.MaxInt64)
	var left []leftIn
	for subscription, b := range p.buffers {
		b.each(func(e enqueued) { left = append(left, leftIn{subscription, e}) })
	}
	p.giveUpEnqueued(left, Open)
}

// latency is from the publish to the callback's start or the poll; null where it was not received.
func (of *passage) latency() trace.Optional[int64] {
	if of.arrival == nil {
		return trace.Optional[int64]{}
	}
	return trace.Some(of.arrival.start - of.departure.at)
}
