package simulation

import "github.com/caret-bpf/caret-bpf/trace"

// ring is the ring buffer of a subscription, as rclcpp's: when it is full, a message takes the place of the oldest one.
type ring struct {
	address     trace.Address
	slots       []*delivery
	write, read uint64
	size        int
	// operations are what happened to it, in their order.
	operations []ringOperation
}

// ringOperation is an enqueue or a dequeue.
type ringOperation struct {
	at       int64
	slot     uint64
	enqueue  bool
	hidden   bool // the recording does not know the slot, or whether a message was overwritten
	delivery *delivery
}

func newRing(address trace.Address, capacity int) *ring {
	return &ring{address: address, slots: make([]*delivery, capacity), write: uint64(capacity - 1)}
}

// put puts a message into the next slot, and tells whether another one was overwritten.
func (b *ring) put(d *delivery) (overwritten bool) {
	b.write = (b.write + 1) % uint64(len(b.slots))
	d.slot = b.write
	if b.size == len(b.slots) {
		b.slots[b.write].overwritten = true
		b.read = (b.read + 1) % uint64(len(b.slots))
		overwritten = true
	} else {
		b.size++
	}
	b.slots[b.write] = d
	return overwritten
}

// get takes the oldest message.
func (b *ring) get() *delivery {
	d := b.slots[b.read]
	b.read = (b.read + 1) % uint64(len(b.slots))
	b.size--
	return d
}

// enqueue puts a message into the buffer of a subscription.
func (s *System) enqueue(m *message, sub *subscription) {
	process := sub.node.process
	b, r := sub.ring, process.recording
	d := &delivery{message: m, subscription: sub, buffered: true, enqueued: s.now}
	m.deliveries[sub] = d
	overwritten := b.put(d)
	hidden := process.hidesSlots && s.chance(10)
	b.operations = append(b.operations, ringOperation{s.now, d.slot, true, hidden, d})
	if r.sees(s.now) {
		row := trace.Enqueue{
			ProcessKey: process.key, TID: m.thread.tid, Buffer: b.address, Index: trace.Some(d.slot), Size: uint64(b.size), Overwritten: trace.Some(overwritten),
			EnqueueTimestamp: r.stamp(s.now), PublisherHandle: m.publisher.handle, TopicName: m.publisher.topic, Provenance: trace.FromTracepoint,
		}
		if m.numbered {
			row.PublishNumber = trace.Some(m.number)
			m.enqueues++
		}
		if hidden {
			row.Index, row.Provenance = trace.Optional[uint64]{}, trace.Derived
		}
		if process.hidesSlots && s.chance(30) {
			row.Overwritten = trace.Optional[bool]{}
			b.operations[len(b.operations)-1].hidden = true
		}
		if e := m.in; r.sees(e.start) {
			row.Callback, row.CallbackStartTimestamp = e.address(), r.stampIfSeen(e.start)
		}
		r.rows.Enqueues = append(r.rows.Enqueues, row)
	}
	s.after(s.between(300, 3000), func() { s.dispatch(sub.node.executor) }) // threads that wait wake up
}

// dequeueFor takes a message out of the buffer for a callback.
func (s *System) dequeueFor(t *thread, c *callback) {
	b := c.subscription.ring
	of := s.receive(t, b.get())
	of.size, of.hiddenSlot = uint64(b.size), c.node.process.hidesSlots && s.chance(10)
	b.operations = append(b.operations, ringOperation{s.now, of.delivery.slot, false, of.hiddenSlot, of.delivery})
	s.begin(t, c, of, nil)
}
