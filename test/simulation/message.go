package simulation

import "github.com/caret-bpf/caret-bpf/trace"

// publish publishes a message: into the buffers of the process, then through the middleware where others want it.
func (s *System) publish(t *thread, p *publisher) {
	e := t.running()
	m := &message{publisher: p, thread: t, in: e, deliveries: make(map[*subscription]*delivery), inputs: make(map[*subscription]*reception)}
	p.messages = append(p.messages, m)
	for sub, of := range e.inputs {
		m.inputs[sub] = of
	}
	var script []action
	then := func(do func()) {
		script = append(script, action{s.between(100, 100+1100/s.pace), func() bool { do(); return false }})
	}
	pass := func(layer *int64) {
		*layer = s.now
		if r := p.node.process.recording; r.sees(s.now) && !m.numbered {
			m.numbered, m.number = true, t.publishes
			t.publishes++
		}
	}
	var others []*subscription
	if p.intra {
		then(func() { pass(&m.intra) })
	}
	for _, sub := range s.topics[p.topic] {
		switch {
		case !sub.node.process.alive(s.now):
		case sub.hasOf(p):
			then(func() { s.enqueue(m, sub) })
		default:
			others = append(others, sub)
		}
	}
	if !p.intra || len(others) > 0 {
		then(func() { pass(&m.rclcpp) })
		then(func() { pass(&m.rcl) })
		then(func() { pass(&m.rmw); m.source = s.sourceStamp(p) })
		then(func() { m.written = s.now; s.send(m) })
	}
	then(func() { m.over = true; s.recordPublish(m) })
	e.script = append(script, e.script...)
}

// sourceStamp is real time, by the clock of the publisher's host.
func (s *System) sourceStamp(p *publisher) int64 {
	real := s.now / s.clockStep * s.clockStep
	if !s.oneBoot {
		real += p.node.process.recording.ahead
	}
	if s.now >= s.realStepAt {
		real += s.realStep
	}
	for s.stamped[stampOfTopic{p.topic, real}] {
		real += s.clockStep
	}
	s.stamped[stampOfTopic{p.topic, real}] = true
	return real
}

// recordPublish writes the row of a publish that is over, or never will be.
func (s *System) recordPublish(m *message) {
	p, r := m.publisher, m.publisher.node.process.recording
	if !m.numbered || m.recorded {
		return
	}
	m.recorded = true
	e := m.in
	row := trace.Publish{
		ProcessKey: p.node.process.key, TID: m.thread.tid, PublishNumber: m.number, PublisherHandle: p.handle,
		RclcppIntraPublishTimestamp: r.stampIfSeen(m.intra), RclcppPublishTimestamp: r.stampIfSeen(m.rclcpp), RclPublishTimestamp: r.stampIfSeen(m.rcl),
		RMWPublishTimestamp: r.stampIfSeen(m.rmw), DDSBindAddrToStampTimestamp: r.stampIfSeen(m.written), Status: m.status(),
		EnqueueCount: m.enqueues, Provenance: trace.FromTracepoint, TopicName: p.topic, NodeName: p.node.name,
	}
	if m.rmw != 0 && r.sees(m.written) && !p.node.process.hidesSources {
		row.SourceTimestamp = trace.Some(m.source)
	}
	if r.sees(e.start) {
		row.Callback, row.CallbackStartTimestamp, row.Depth = e.address(), r.stampIfSeen(e.start), e.depth+1
	}
	r.rows.Publishes = append(r.rows.Publishes, row)
}

// status is what its row says of its end.
func (m *message) status() trace.PublishStatus {
	p := m.publisher.node.process
	switch {
	case m.over && p.recording.sees(max(m.intra, m.rclcpp, m.rcl, m.rmw, m.written)):
		return trace.PublishComplete
	case p.recording.sees(p.died):
		return trace.PublishThreadExit
	}
	return trace.PublishRecordingEnd
}

// send puts a message on its way through the middleware, which keeps the order, and loses some.
func (s *System) send(m *message) {
	p := m.publisher
	for _, sub := range s.topics[p.topic] {
		if !sub.node.process.alive(s.now) || s.chance(3) {
			continue
		}
		d := &delivery{message: m, subscription: sub}
		if !sub.hasOf(p) { // else rclcpp will drop it
			m.deliveries[sub] = d
		}
		at := max(s.now+s.between(2_000, 2_000+80_000/s.pace), p.arrival[sub]+1)
		p.arrival[sub] = at
		s.at(at, func() { s.arrive(d) })
	}
}

// arrive puts a message into the subscription's queue, in place of the oldest one if that is full.
func (s *System) arrive(d *delivery) {
	sub := d.subscription
	if !sub.node.process.alive(s.now) {
		return
	}
	sub.queue = append(sub.queue, d)
	if len(sub.queue) > sub.depth {
		sub.queue = sub.queue[1:]
	}
	s.dispatch(sub.node.executor)
}

// take takes the next message out of the queue.
func (s *System) take(t *thread, sub *subscription) *reception {
	d := sub.queue[0]
	sub.queue = sub.queue[1:]
	return s.receive(t, d)
}

// receive notes that a message was taken.
func (s *System) receive(t *thread, d *delivery) *reception {
	of := &reception{delivery: d, thread: t, take: s.now}
	d.reception = of
	d.subscription.received = append(d.subscription.received, of)
	return of
}

// takeFor takes a message for a callback. rclcpp drops it if it comes through a buffer, too.
func (s *System) takeFor(t *thread, c *callback) {
	of := s.take(t, c.subscription)
	if of.delivery.subscription.hasOf(of.delivery.message.publisher) {
		of.ignored = true
		s.recordTake(of, trace.TakeIgnored)
		s.goOn(t)
		return
	}
	s.begin(t, c, of, nil)
}

// poll takes a message, if there is one, in the running execution.
func (s *System) poll(t *thread, sub *subscription) {
	if len(sub.queue) == 0 {
		return
	}
	of := s.take(t, sub)
	e := t.running()
	of.polled, of.execution = true, e
	e.inputs[sub] = of
	e.polled = append(e.polled, of)
	s.recordTake(of, trace.TakeRMW)
}

// recordTake writes the row of a take that starts no callback.
func (s *System) recordTake(of *reception, kind trace.TakeKind) {
	sub := of.delivery.subscription
	r := sub.node.process.recording
	if !r.sees(of.take) {
		return
	}
	row := trace.Take{ProcessKey: sub.node.process.key, TID: of.thread.tid, Kind: kind, Provenance: trace.FromTracepoint}
	if of.delivery.buffered {
		row.Buffer, row.DequeueIndex, row.DequeueSize, row.DequeueTimestamp = sub.ring.address, of.slot(), trace.Some(of.size), r.stampIfSeen(of.take)
	} else {
		row.SubscriptionHandle, row.TopicName, row.NodeName = sub.handle, sub.topic, sub.node.name
		row.SourceTimestamp, row.RMWTakeTimestamp, row.PublisherGID = trace.Some(of.delivery.message.source), r.stampIfSeen(of.take), of.gid()
	}
	if of.polled && r.sees(of.execution.start) {
		row.Callback, row.CallbackStartTimestamp = of.execution.address(), r.stampIfSeen(of.execution.start)
	}
	r.rows.Takes = append(r.rows.Takes, row)
}
