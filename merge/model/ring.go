package model

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// Ring is what a probe reads of a ring buffer of Humble, a moment after an operation of it (bpf/src/ring.h).
type Ring struct {
	Capacity, WriteIndex, ReadIndex, Size uint64
}

// RingHistory says where the operations of a ring that were seen lead to (bpf/src/ring_history.h). It tells which slot
// an operation has used, where that is certain: another thread may have used the ring before a probe reads it.
type RingHistory struct {
	// WriteIndex is where the enqueues lead to.
	WriteIndex           uint64
	Size, SizeWriteIndex uint64
	// Message is in the slot of the last enqueue, 0 if none is any more.
	Message uint64
	// Taken: a dequeue was seen after that enqueue. Early: one was seen of a message whose enqueue was not (of a ring with
	// one slot).
	Taken bool
	Early early
	// OpenEnqueues and OpenDequeues are still to be seen before slots are certain again.
	OpenEnqueues, OpenDequeues uint32
	// DoubtfulEnqueues and DoubtfulDequeues are in a row.
	DoubtfulEnqueues, DoubtfulDequeues uint32
	// UnseenDequeues are those that the ring shows.
	UnseenDequeues uint32
	// SkippedEnqueues and SkippedDequeues were seen, but could not be followed yet.
	SkippedEnqueues, SkippedDequeues uint32
}

// early says whether something was so.
type early uint32

const (
	earlyNo early = iota
	earlyYes
	earlyMaybe
)

// BeginRing is the history of a ring whose first enqueue has been seen.
func BeginRing(ring Ring, message uint64) RingHistory {
	return RingHistory{
		WriteIndex: ring.WriteIndex, Size: ring.Size, SizeWriteIndex: ring.WriteIndex, Message: message,
	}
}

// AtRest reports whether no thread is in the middle of an operation.
func (r Ring) AtRest() bool {
	return (r.WriteIndex+1+r.Capacity-r.ReadIndex)%r.Capacity == r.Size%r.Capacity
}

func (r Ring) distance(from, to uint64) uint64 { return (to + r.Capacity - from) % r.Capacity }

func (r Ring) next(index uint64) uint64 { return (index + 1) % r.Capacity }

// stillOpen returns what is to be seen after one operation, when the ring was so far ahead.
func stillOpen(open uint32, ahead uint64) uint32 {
	if open > 0 {
		open--
	}
	if ahead > 1 {
		open = max(open, uint32(ahead-1))
	}
	return open
}

func (h *RingHistory) noteSize(ring Ring) { h.Size, h.SizeWriteIndex = ring.Size, ring.WriteIndex }

// countDequeues counts what has been taken since the size was noted. A ring that has been full may have dropped it.
func (h *RingHistory) countDequeues(ring Ring) {
	if most := h.Size + ring.distance(h.SizeWriteIndex, ring.WriteIndex); most <= ring.Capacity && most > ring.Size {
		h.UnseenDequeues += uint32(most - ring.Size)
	}
}

// followSkippedEnqueues counts what was skipped as seen. It may be newer than what is still to be seen: that is
// uncertain.
func (h *RingHistory) followSkippedEnqueues(ring Ring) {
	if h.SkippedEnqueues == 0 {
		return
	}
	h.WriteIndex = (h.WriteIndex + uint64(h.SkippedEnqueues)) % ring.Capacity
	h.OpenEnqueues = max(h.OpenEnqueues, uint32(ring.distance(h.WriteIndex, ring.WriteIndex)))
	h.SkippedEnqueues = 0
}

func (h *RingHistory) followSkippedDequeues() {
	if h.SkippedDequeues == 0 {
		return
	}
	h.UnseenDequeues -= min(h.UnseenDequeues, h.SkippedDequeues)
	h.OpenDequeues = max(h.OpenDequeues, h.UnseenDequeues)
	h.SkippedDequeues = 0
}

// Enqueue returns the slot of an enqueue. message is what is in the slot that was written last, 0 if it has been taken.
func (h *RingHistory) Enqueue(ring Ring, message uint64) (slot uint64, overwritten abi.Overwritten) {
	skippedEnqueues := h.SkippedEnqueues > 0
	skipped := skippedEnqueues || h.SkippedDequeues > 0
	h.followSkippedEnqueues(ring)
	if ring.Capacity == 1 {
		return h.enqueueAlone(ring, message, skipped)
	}
	ahead := ring.distance(h.WriteIndex, ring.WriteIndex)
	if ahead == 0 && h.OpenEnqueues == 0 && !skippedEnqueues {
		return abi.UnknownSlot, abi.NoEnqueue
	}
	slot, overwritten = abi.UnknownSlot, abi.OverwrittenUnknown
	if ahead == 1 && h.OpenEnqueues == 0 {
		slot = ring.WriteIndex
		if ring.distance(h.SizeWriteIndex, ring.WriteIndex) == 1 && !skipped {
			overwritten = h.dropped(ring)
		}
	}
	h.settle(slot)
	h.OpenEnqueues = stillOpen(h.OpenEnqueues, ahead)
	if ahead > 0 {
		h.WriteIndex = ring.next(h.WriteIndex)
	}
	if h.DoubtfulEnqueues >= abi.LargestDoubt {
		h.OpenEnqueues, h.WriteIndex = 0, ring.WriteIndex
	}
	h.countDequeues(ring)
	h.followSkippedDequeues()
	h.Message, h.Taken, h.Early = message, false, earlyNo
	h.noteSize(ring)
	return slot, overwritten
}

// enqueueAlone is Enqueue for a ring whose one slot shows by its message whether it was used by another thread.
func (h *RingHistory) enqueueAlone(ring Ring, message uint64, skipped bool) (slot uint64, overwritten abi.Overwritten) {
	slot, overwritten = abi.UnknownSlot, abi.OverwrittenUnknown
	same := message != 0 && message == h.Message && !h.Taken
	gone := ring.Size == 0
	early := h.Early == earlyYes || h.Early == earlyMaybe && gone
	if !same && (!early || gone) && !skipped {
		slot = 0
		if !early {
			overwritten = h.dropped(ring)
		}
	}
	h.settle(slot)
	h.countDequeues(ring)
	h.followSkippedDequeues()
	h.Message, h.Taken, h.Early = message, early && gone, earlyNo
	h.noteSize(ring)
	return slot, overwritten
}

func (h *RingHistory) settle(slot uint64) {
	if slot == abi.UnknownSlot {
		h.DoubtfulEnqueues++
	} else {
		h.DoubtfulEnqueues = 0
	}
}

// dropped says what an enqueue has done to a buffer of which nothing else has happened since its size was noted.
func (h *RingHistory) dropped(ring Ring) abi.Overwritten {
	switch {
	case h.Size < ring.Capacity:
		return abi.OverwrittenNo
	case ring.Size == ring.Capacity:
		return abi.OverwrittenYes
	}
	return abi.OverwrittenUnknown
}

// Dequeue returns the slot that a dequeue has emptied, if the last enqueue into it that was seen is that of what it
// took. message is what it took, 0 if unknown.
func (h *RingHistory) Dequeue(ring Ring, message uint64) (slot uint64) {
	if ring.Capacity == 1 {
		h.Taken = h.Taken || h.SkippedDequeues > 0
		h.SkippedDequeues = 0
		h.noteSize(ring)
		return h.dequeueAlone(message)
	}
	h.countDequeues(ring)
	h.followSkippedDequeues()
	h.noteSize(ring)
	certain := h.UnseenDequeues == 1 && h.OpenDequeues == 0
	h.DoubtfulDequeues++
	if certain {
		h.DoubtfulDequeues = 0
	}
	h.OpenDequeues = stillOpen(h.OpenDequeues, uint64(h.UnseenDequeues))
	if h.UnseenDequeues > 0 {
		h.UnseenDequeues--
	}
	if h.DoubtfulDequeues >= abi.LargestDoubt {
		h.OpenDequeues, h.UnseenDequeues = 0, 0
	}
	unseen := ring.distance(h.WriteIndex, ring.WriteIndex)
	if !certain || unseen > ring.Size || ring.Size == ring.Capacity {
		return abi.UnknownSlot
	}
	return ring.distance(1, ring.ReadIndex)
}

func (h *RingHistory) dequeueAlone(message uint64) (slot uint64) {
	taken := h.Taken
	h.Taken = true
	switch {
	case taken, message != 0 && h.Message != 0 && message != h.Message:
		h.Early = earlyYes
	case message == 0 || h.Message == 0:
		h.Early = earlyMaybe
	default:
		h.Early = earlyNo
		return 0
	}
	return abi.UnknownSlot
}
