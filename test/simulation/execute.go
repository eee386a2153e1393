package simulation

import "github.com/caret-bpf/caret-bpf/trace"

// between is a number from least to less than most.
func (s *System) between(least, most int64) int64 { return least + s.random.Int64N(most-least) }

// chance is true so often of a hundred times.
func (s *System) chance(percent int) bool { return s.random.IntN(100) < percent }

// work is something that a thread of an executor can do now.
type work struct {
	callback *callback // nil for the answer to a client
	begin    func(t *thread)
}

// ready returns what can be done, but for callbacks whose group is busy.
func (x *executor) ready(s *System) (ready []work) {
	for _, n := range x.nodes {
		for _, c := range n.callbacks {
			if !c.reentrant && n.busy {
				continue
			}
			if c.due {
				ready = append(ready, work{c, func(t *thread) { c.due = false; s.begin(t, c, nil, nil) }})
			}
			if sub := c.subscription; sub != nil && len(sub.queue) > 0 {
				ready = append(ready, work{c, func(t *thread) { s.takeFor(t, c) }})
			}
			if sub := c.subscription; sub != nil && sub.ring != nil && sub.ring.size > 0 {
				ready = append(ready, work{c, func(t *thread) { s.dequeueFor(t, c) }})
			}
			if c.server != nil && len(c.server.requests) > 0 {
				ready = append(ready, work{c, func(t *thread) { s.serve(t, c) }})
			}
		}
		for _, c := range n.clients {
			if len(c.answers) > 0 {
				ready = append(ready, work{nil, func(t *thread) { s.takeAnswer(t, c) }})
			}
		}
	}
	return ready
}

// dispatch gives idle threads something to do.
func (s *System) dispatch(x *executor) {
	if !x.process.alive(s.now) {
		return
	}
	for _, i := range s.random.Perm(len(x.threads)) {
		t := x.threads[i]
		if t.busy {
			continue
		}
		ready := x.ready(s)
		if len(ready) == 0 {
			return
		}
		t.busy = true
		ready[s.random.IntN(len(ready))].begin(t)
	}
}

// begin begins an execution of a callback: it starts a moment later, or long after, if its thread is interrupted.
func (s *System) begin(t *thread, c *callback, fed *reception, answers *call) {
	e := &execution{callback: c, thread: t, parent: t.running(), depth: int32(len(t.frames)), fed: fed, call: answers, inputs: make(map[*subscription]*reception)}
	if fed != nil {
		fed.execution, e.intra = e, fed.delivery.buffered
		e.inputs[fed.delivery.subscription] = fed
	}
	if !c.reentrant {
		c.node.busy = true
	}
	c.executions = append(c.executions, e)
	delay := s.between(100, 100+1400/s.pace)
	if s.chance(3) {
		delay = s.between(1500, 1500+60_000/s.pace)
	}
	s.inProcess(t, delay, func() { s.start(e) })
}

// inProcess lets something happen unless the thread's process has ended then.
func (s *System) inProcess(t *thread, delay int64, do func()) {
	s.after(delay, func() {
		if t.executor.process.alive(s.now) {
			do()
		}
	})
}

func (s *System) start(e *execution) {
	e.start = s.now
	t, c := e.thread, e.callback
	t.frames = append(t.frames, e)
	if before := c.readsFrom; before != nil {
		e.from, before.left = before.left, nil
	}
	e.script = s.script(e)
	s.next(t)
}

// script makes up what an execution does.
func (s *System) script(e *execution) (script []action) {
	c, t := e.callback, e.thread
	add := func(do func() bool) {
		delay := s.between(200, 200+40_000/s.pace)
		if s.chance(20) {
			delay = s.between(200, 200+800/s.pace)
		}
		script = append(script, action{delay, do})
	}
	for _, sub := range c.polls {
		if s.chance(70) {
			add(func() bool { s.poll(t, sub); return false })
			// Nothing recorded tells whether it was before or after a publish of the same time.
			script[len(script)-1].delay += s.clockStep
		}
	}
	for _, p := range c.publishes {
		for s.chance(80) {
			add(func() bool { s.publish(t, p); return false })
			if !s.chance(15) {
				break
			}
		}
	}
	for _, client := range c.calls {
		if s.chance(60) {
			add(func() bool { s.request(t, client); return false })
		}
	}
	if len(t.frames) < 3 && s.chance(3) {
		add(func() bool { return s.spin(t) })
		script[len(script)-1].delay += s.clockStep // no callback starts twice on a thread at one time
	}
	s.random.Shuffle(len(script), func(i, j int) { script[i], script[j] = script[j], script[i] })
	if e.call != nil && s.chance(95) {
		add(func() bool { s.answer(e); return false })
	}
	if s.chance(1) {
		e.unwound = true
	}
	return append(script, action{s.between(1200, 1200+30_000/s.pace), func() bool { s.leave(e); return true }})
}

// next goes on with the script of the thread's innermost execution.
func (s *System) next(t *thread) {
	e := t.running()
	if e == nil {
		t.busy = false
		s.dispatch(t.executor)
		return
	}
	a := e.script[0]
	e.script = e.script[1:]
	s.inProcess(t, a.delay, func() {
		if !a.do() {
			s.next(t)
		}
	})
}

// goOn lets the thread look for other work, or go on with the execution that spins, after a while.
func (s *System) goOn(t *thread) {
	s.inProcess(t, s.between(1100, 1100+5000/s.pace), func() { s.next(t) })
}

// leave ends an execution: by an exception, if it is to be unwound.
func (s *System) leave(e *execution) {
	t, c := e.thread, e.callback
	if !e.unwound {
		e.end = s.now
		if c.isRead() {
			c.left = e
		}
	}
	t.frames = t.frames[:len(t.frames)-1]
	if !c.reentrant {
		c.node.busy = false
	}
	s.recordExecution(e)
	s.dispatch(t.executor)
	s.goOn(t)
}

// isRead tells whether another callback reads what this one leaves.
func (c *callback) isRead() bool {
	for _, other := range c.node.chain {
		if other.readsFrom == c {
			return true
		}
	}
	return false
}

// spin runs another callback inside the running one, if there is something to do.
func (s *System) spin(t *thread) bool {
	ready := t.executor.ready(s)
	if len(ready) == 0 {
		return false
	}
	ready[s.random.IntN(len(ready))].begin(t)
	return true
}

// runTimer lets a timer be due at each point of its grid.
func (s *System) runTimer(c *callback) {
	p := c.node.process
	for at := c.init + c.period; at < s.lastEnd(); at += c.period {
		s.at(at, func() {
			if p.alive(s.now) {
				c.due = true
				s.dispatch(c.node.executor)
			}
		})
	}
}

// lastEnd is when the last recording ends.
func (s *System) lastEnd() (last int64) {
	for _, r := range s.recordings {
		last = max(last, r.end)
	}
	return last
}

// recordExecution writes the row of an execution that has ended, or never does.
func (s *System) recordExecution(e *execution) {
	c, r := e.callback, e.callback.node.process.recording
	if e.written != 0 {
		return
	}
	e.written = s.now
	began, ended := r.sees(e.start), r.sees(e.end)
	if !began && !ended {
		return
	}
	row := trace.Callback{
		ProcessKey: c.node.process.key, TID: e.thread.tid, Callback: c.address, CallbackStartTimestamp: r.stampIfSeen(e.start),
		CallbackEndTimestamp: r.stampIfSeen(e.end), Status: e.status(), Provenance: trace.FromTracepoint,
	}
	if e.intra {
		row.Callback = c.intraAddress
	}
	if !began {
		r.rows.Callbacks = append(r.rows.Callbacks, row)
		return
	}
	row.Depth, row.IsIntraProcess = e.depth, trace.Some(e.intra)
	if !c.hidden {
		row.Kind, row.NodeName, row.Period = c.kind, c.node.name, optional(c.period)
		if e.intra {
			row.Kind = trace.KindIntraProcessSubscription
		}
	}
	if e.parent != nil && r.sees(e.parent.start) {
		row.ParentCallback, row.ParentCallbackStartTimestamp = e.parent.address(), r.stampIfSeen(e.parent.start)
	}
	if fed := e.fed; fed != nil && r.sees(fed.take) {
		row.SubscriptionHandle, row.TopicName = c.subscription.handle, c.subscription.topic
		if e.intra {
			row.Buffer, row.DequeueTimestamp, row.DequeueSize = c.subscription.ring.address, r.stampIfSeen(fed.take), trace.Some(fed.size)
			row.DequeueIndex = fed.slot()
		} else {
			row.SourceTimestamp, row.RMWTakeTimestamp, row.PublisherGID = trace.Some(fed.delivery.message.source), r.stampIfSeen(fed.take), fed.gid()
		}
	}
	r.rows.Callbacks = append(r.rows.Callbacks, row)
}

func optional(n int64) trace.Optional[int64] {
	return trace.Optional[int64]{Value: n, Valid: n != 0}
}

// address is what callback_start passes.
func (e *execution) address() trace.Address {
	if e.intra {
		return e.callback.intraAddress
	}
	return e.callback.address
}

// status is what its row says of its end.
func (e *execution) status() trace.CallbackStatus {
	r, p := e.callback.node.process.recording, e.callback.node.process
	switch {
	case !r.sees(e.start):
		return trace.CallbackStartMissing
	case r.sees(e.end):
		return trace.CallbackComplete
	case e.unwound && len(e.script) == 0:
		return trace.CallbackUnwound
	case r.sees(p.died):
		return trace.CallbackThreadExit
	}
	return trace.CallbackRecordingEnd
}

// gid is that of the publisher, "" where the take does not tell it.
func (of *reception) gid() string {
	if of.delivery.subscription.node.process.hidesGIDs {
		return ""
	}
	return of.delivery.message.publisher.gid
}

// slot is null where it is not certain.
func (of *reception) slot() trace.Optional[uint64] {
	return trace.Optional[uint64]{Value: of.delivery.slot, Valid: !of.hiddenSlot}
}
