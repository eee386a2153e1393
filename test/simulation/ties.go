package simulation

// leavesOpen tells whether what was recorded of the buffer may not tell what became of a message: the recording does
// not know the slot of an operation, or the clock gave one time to several operations on the slot, and what it was
// before can be told neither by the flag overwritten nor by the thread.
func (b *ring) leavesOpen(d *delivery, r *recording) bool {
	for _, o := range b.operations {
		if o.hidden {
			return true
		}
	}
	times := []int64{r.stamp(d.enqueued)}
	if d.reception != nil {
		times = append(times, r.stamp(d.reception.take))
	}
	if next := b.after(d); next != nil {
		times = append(times, r.stamp(next.enqueued))
	}
	for _, at := range times {
		if b.isTied(d.slot, at, r) {
			return true
		}
	}
	// If it is not known whether the message before was taken, that goes on to one that came when something was taken.
	before := b.before(d)
	return before != nil && b.isPaired(d.slot, r.stamp(d.enqueued), r) && b.leavesOpen(before, r)
}

// before returns the message that was put last into the slot before one; nil where none was.
func (b *ring) before(d *delivery) (before *delivery) {
	for _, o := range b.operations {
		if o.enqueue && o.delivery == d {
			break
		}
		if o.enqueue && o.slot == d.slot {
			before = o.delivery
		}
	}
	return before
}

// after returns the message that was put next into the slot of one; nil where none was.
func (b *ring) after(d *delivery) *delivery {
	found := false
	for _, o := range b.operations {
		if found && o.enqueue && o.slot == d.slot {
			return o.delivery
		}
		found = found || o.enqueue && o.delivery == d
	}
	return nil
}

// isTied tells whether more than an enqueue and a dequeue of a slot have one time, or these two where it was not
// recorded what the slot held before.
func (b *ring) isTied(slot uint64, at int64, r *recording) bool {
	enqueues, dequeues, before := b.count(slot, at, r)
	return enqueues > 0 && dequeues > 0 && (enqueues+dequeues > 2 || before == 0)
}

// isPaired tells whether a slot has an enqueue and a dequeue at a time.
func (b *ring) isPaired(slot uint64, at int64, r *recording) bool {
	enqueues, dequeues, _ := b.count(slot, at, r)
	return enqueues > 0 && dequeues > 0
}

// count counts the recorded operations on a slot: those of a time, and those before.
func (b *ring) count(slot uint64, at int64, r *recording) (enqueues, dequeues, before int) {
	for _, o := range b.operations {
		if o.slot != slot || !r.sees(o.at) {
			continue
		}
		switch of := r.stamp(o.at); {
		case of < at:
			before++
		case of > at:
		case o.enqueue:
			enqueues++
		default:
			dequeues++
		}
	}
	return enqueues, dequeues, before
}
