package model_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge/model"
)

// sighting is an operation of a ring buffer that a probe sees: not before it has happened, and perhaps after others
// have.
type sighting struct {
	ring    model.Ring
	dequeue bool
	message uint64 // what was taken; of an enqueue, what is in the slot that was written last
	// The truth: the slot that it used, which of the ring's messages it was, and what it overwrote.
	slot        uint64
	number      int
	overwritten bool
	// disturbed: a take had happened and was not seen when the buffer was written, or the reverse.
	disturbed bool
}

// ringScript lets threads put messages into a ring buffer and take them. A thread is seen some time after each
// operation. With others at most so many operations are not seen at a time.
type ringScript struct {
	random  *rand.Rand
	ring    model.Ring
	slots   []uint64 // messages
	numbers []int
	free    []uint64 // messages' addresses, the last one freed is used first
	count   int
	unseen  []sighting
	waiting []int // for how many sightings
	steps   int
	takers  int // 0 is one
	// skipped: one of so many operations that are seen cannot be followed, 0 is none.
	skipped  int
	skipping int // that follow
}

func newRingScript(random *rand.Rand, capacity uint64) *ringScript {
	s := &ringScript{random: random, ring: model.Ring{Capacity: capacity, WriteIndex: capacity - 1}}
	s.slots, s.numbers = make([]uint64, capacity), make([]int, capacity)
	for address := range uint64(100) {
		s.free = append(s.free, 0x1000+address*0x10)
	}
	return s
}

func (s *ringScript) pending(dequeue bool) (n int) {
	for _, u := range s.unseen {
		if u.dequeue == dequeue {
			n++
		}
	}
	return n
}

func (s *ringScript) enqueue() {
	full := s.ring.Size == s.ring.Capacity
	s.ring.WriteIndex = (s.ring.WriteIndex + 1) % s.ring.Capacity
	message := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if full {
		s.free = append(s.free, s.slots[s.ring.WriteIndex])
		s.ring.ReadIndex = (s.ring.ReadIndex + 1) % s.ring.Capacity
	} else {
		s.ring.Size++
	}
	s.count++
	s.slots[s.ring.WriteIndex], s.numbers[s.ring.WriteIndex] = message, s.count
	s.unseen = append(s.unseen, sighting{
		slot: s.ring.WriteIndex, number: s.count, overwritten: full, disturbed: s.pending(true) > 0,
	})
	s.waiting = append(s.waiting, 0)
}

func (s *ringScript) dequeue() {
	slot := s.ring.ReadIndex
	s.unseen = append(s.unseen, sighting{dequeue: true, message: s.slots[slot], slot: slot, number: s.numbers[slot]})
	s.waiting = append(s.waiting, 0)
	s.slots[slot] = 0
	s.ring.ReadIndex = (slot + 1) % s.ring.Capacity
	s.ring.Size--
}

// see lets a probe see one of the operations, the oldest ones first if they have waited for long.
func (s *ringScript) see() sighting {
	i := s.random.IntN(len(s.unseen))
	for j, waited := range s.waiting {
		if waited > 3 {
			i = j
		}
	}
	seen := s.unseen[i]
	s.unseen = append(s.unseen[:i], s.unseen[i+1:]...)
	s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
	for j := range s.waiting {
		s.waiting[j]++
	}
	seen.ring = s.ring
	if seen.dequeue {
		s.free = append(s.free, seen.message)
	} else {
		seen.message = s.slots[s.ring.WriteIndex]
	}
	return seen
}

// skips reports whether the next operation cannot be followed: mostly several in a row.
func (s *ringScript) skips() bool {
	if s.skipping == 0 && s.skipped > 0 && s.random.IntN(s.skipped) == 0 {
		s.skipping = 1 + s.random.IntN(4)
	}
	if s.skipping == 0 {
		return false
	}
	s.skipping--
	return true
}

// step does something and returns what a probe sees, if it does.
func (s *ringScript) step(others bool) (sighting, bool) {
	publishers := 1
	if others {
		publishers = min(3, max(1, int(s.ring.Capacity)-1))
	}
	s.steps++
	calm := len(s.unseen) > 0 && (!others || s.steps%64 < 8)
	switch action := s.random.IntN(3); {
	case action == 0 && !calm && s.pending(false) < publishers && (s.takers == 0 || s.ring.Size < s.ring.Capacity/2):
		s.enqueue()
	case action == 1 && !calm && s.ring.Size > 0 && s.pending(true) < max(1, s.takers):
		s.dequeue()
	case len(s.unseen) > 0:
		return s.see(), true
	}
	return sighting{}, false
}

// TestRingHistoryIsHonest: what is said of an operation is true, and with one thread at a time everything is said.
func TestRingHistoryIsHonest(t *testing.T) {
	for _, test := range []struct {
		others  bool
		skipped int
	}{{}, {others: true}, {others: true, skipped: 100}} {
		for capacity := range uint64(6) {
			capacity++
			t.Run(fmt.Sprintf("capacity %d, others %v, skipped %d", capacity, test.others, test.skipped), func(t *testing.T) {
				certain, all := 0, 0
				for seed := range uint64(200) {
					script := newRingScript(rand.New(rand.NewPCG(seed, capacity)), capacity)
					script.skipped = test.skipped
					c, a := checkRing(t, script, test.others)
					certain, all = certain+c, all+a
				}
				t.Logf("%d of %d operations are certain", certain, all)
				if !test.others && certain != all || certain*4 < all {
					t.Errorf("%d of %d operations are certain", certain, all)
				}
			})
		}
	}
}

// TestDequeuesOfSeveralThreads: in a reentrant callback group threads take messages of one buffer at once.
func TestDequeuesOfSeveralThreads(t *testing.T) {
	for _, skipped := range []int{0, 100} {
		certain, all := 0, 0
		for seed := range uint64(200) {
			script := newRingScript(rand.New(rand.NewPCG(seed, 9)), 10)
			script.takers, script.skipped = 3, skipped
			c, a := checkRing(t, script, true)
			certain, all = certain+c, all+a
		}
		t.Logf("skipped %d: %d of %d operations are certain", skipped, certain, all)
		if certain*6 < all {
			t.Errorf("%d of %d operations are certain", certain, all)
		}
	}
}

// checkRing also joins messages by slot, as readers of a dataset do: an unknown slot may be any.
func checkRing(t *testing.T, script *ringScript, others bool) (certain, all int) {
	t.Helper()
	script.enqueue()
	first := script.see()
	history := model.BeginRing(first.ring, first.message)
	held := map[uint64]int{first.slot: first.number}
	for range 2000 {
		seen, ok := script.step(others)
		if !ok {
			continue
		}
		all++
		if script.skips() {
			if seen.dequeue {
				history.SkippedDequeues++
			} else {
				history.SkippedEnqueues++
				clear(held)
			}
			continue
		}
		if seen.dequeue {
			slot := history.Dequeue(seen.ring, seen.message)
			if slot == abi.UnknownSlot {
				continue
			}
			certain++
			if number, known := held[slot]; slot != seen.slot || known && number != seen.number {
				t.Fatalf("dequeue of message %d in slot %d: slot %d, joined with %d", seen.number, seen.slot, slot, number)
			}
			delete(held, slot)
			continue
		}
		slot, overwritten := history.Enqueue(seen.ring, seen.message)
		switch {
		case overwritten == abi.NoEnqueue:
			t.Fatalf("enqueue of message %d: not regarded as one", seen.number)
		case overwritten == abi.OverwrittenNo && seen.overwritten, overwritten == abi.OverwrittenYes && !seen.overwritten && !seen.disturbed:
			t.Fatalf("enqueue of message %d: overwritten %v, want %v", seen.number, overwritten, seen.overwritten)
		case !others && overwritten == abi.OverwrittenUnknown:
			t.Fatalf("enqueue of message %d: overwritten unknown", seen.number)
		}
		if slot == abi.UnknownSlot {
			clear(held)
			continue
		}
		certain++
		if slot != seen.slot {
			t.Fatalf("enqueue of message %d in slot %d: slot %d", seen.number, seen.slot, slot)
		}
		held[slot] = seen.number
	}
	return certain, all
}

// TestDequeueSeenBeforeItsEnqueue is what a thread does that is interrupted between putting a message into a buffer and
// telling so.
func TestDequeueSeenBeforeItsEnqueue(t *testing.T) {
	for name, test := range map[string]struct {
		begin            model.Ring
		message, taken   uint64
		dequeue, enqueue model.Ring
		late             uint64 // in the slot when the enqueue is seen
	}{
		"of many slots": {
			begin: model.Ring{Capacity: 4, WriteIndex: 3, ReadIndex: 0, Size: 4}, message: 0x30, taken: 0x40,
			dequeue: model.Ring{Capacity: 4, WriteIndex: 0, ReadIndex: 1, Size: 0}, enqueue: model.Ring{Capacity: 4, WriteIndex: 0, ReadIndex: 1, Size: 0},
		},
		"of the only slot": {
			begin: model.Ring{Capacity: 1, Size: 1}, message: 0x30, taken: 0x40,
			dequeue: model.Ring{Capacity: 1}, enqueue: model.Ring{Capacity: 1},
		},
		"message unknown": {
			begin: model.Ring{Capacity: 1, Size: 1}, message: 0x30,
			dequeue: model.Ring{Capacity: 1}, enqueue: model.Ring{Capacity: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			history := model.BeginRing(test.begin, test.message)
			if slot := history.Dequeue(test.dequeue, test.taken); slot != abi.UnknownSlot {
				t.Errorf("the dequeue is of slot %d, whose enqueue has not been seen", slot)
			}
			if _, overwritten := history.Enqueue(test.enqueue, test.late); overwritten != abi.OverwrittenUnknown {
				t.Errorf("overwritten %v after more has happened than was seen", overwritten)
			}
		})
	}
}

// TestDequeueOfBeforeTheHistoryBegan: its thread was interrupted before it was seen, while others used the buffer.
func TestDequeueOfBeforeTheHistoryBegan(t *testing.T) {
	history := model.BeginRing(model.Ring{Capacity: 4, WriteIndex: 2, ReadIndex: 1, Size: 2}, 0x30)
	if slot := history.Dequeue(model.Ring{Capacity: 4, WriteIndex: 2, ReadIndex: 1, Size: 2}, 0x10); slot != abi.UnknownSlot {
		t.Errorf("slot %d, and nothing was taken since the history began", slot)
	}
	if slot := history.Dequeue(model.Ring{Capacity: 4, WriteIndex: 2, ReadIndex: 2, Size: 1}, 0x20); slot != 1 {
		t.Errorf("slot %d of what was taken next, want 1", slot)
	}
}

// TestSkippedOfBeforeTheHistoryBegan: a program that finds another one at work may have seen what that has counted, or
// a trigger that was no enqueue. What comes next is one.
func TestSkippedOfBeforeTheHistoryBegan(t *testing.T) {
	history := model.BeginRing(model.Ring{Capacity: 8, WriteIndex: 6, ReadIndex: 6, Size: 1}, 0x30)
	history.SkippedEnqueues = 1
	for i, want := range []uint64{abi.UnknownSlot, 0} {
		write := (7 + uint64(i)) % 8
		slot, overwritten := history.Enqueue(model.Ring{Capacity: 8, WriteIndex: write, ReadIndex: 6, Size: 2 + uint64(i)}, 0x40)
		if slot != want || overwritten == abi.NoEnqueue {
			t.Errorf("enqueue %d: slot %d, want %d; overwritten %v", i, slot, want, overwritten)
		}
	}
}

func TestRingsAtRest(t *testing.T) {
	for _, test := range []struct {
		ring model.Ring
		want bool
	}{
		{model.Ring{Capacity: 3, WriteIndex: 2, ReadIndex: 0, Size: 0}, true},
		{model.Ring{Capacity: 3, WriteIndex: 2, ReadIndex: 0, Size: 3}, true},
		{model.Ring{Capacity: 3, WriteIndex: 0, ReadIndex: 2, Size: 2}, true},
		{model.Ring{Capacity: 3, WriteIndex: 0, ReadIndex: 2, Size: 1}, false},
		{model.Ring{Capacity: 1, Size: 1}, true},
	} {
		if got := test.ring.AtRest(); got != test.want {
			t.Errorf("%+v: at rest %v", test.ring, got)
		}
	}
}

// TestKernelRingEqualsModel gives the same random sightings to the kernel side.
func TestKernelRingEqualsModel(t *testing.T) {
	k := newKernel(t)
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 2))
		script := newRingScript(random, 1+random.Uint64N(5))
		script.skipped = 20
		script.enqueue()
		first := script.see()
		history := model.BeginRing(first.ring, first.message)
		var operation bpf.CaretRingOperation
		operation.History.WriteIndex, operation.History.Message = history.WriteIndex, history.Message
		operation.History.Size, operation.History.SizeWriteIndex = history.Size, history.SizeWriteIndex
		for i := range 500 {
			seen, ok := script.step(true)
			if !ok {
				continue
			}
			if script.skips() {
				if seen.dequeue {
					history.SkippedDequeues++
					operation.History.SkippedDequeues++
				} else {
					history.SkippedEnqueues++
					operation.History.SkippedEnqueues++
				}
				continue
			}
			operation.Message, operation.IsDequeue, operation.Overwritten = seen.message, 0, 0
			operation.Ring.Capacity, operation.Ring.Size = seen.ring.Capacity, seen.ring.Size
			operation.Ring.WriteIndex, operation.Ring.ReadIndex = seen.ring.WriteIndex, seen.ring.ReadIndex
			var slot uint64
			var overwritten abi.Overwritten
			if seen.dequeue {
				operation.IsDequeue = 1
				slot = history.Dequeue(seen.ring, seen.message)
			} else {
				slot, overwritten = history.Enqueue(seen.ring, seen.message)
			}
			options := ebpf.RunOptions{Context: &operation, ContextOut: &operation}
			if _, err := k.collection.Programs["run_ring"].Run(&options); err != nil {
				t.Fatal(err)
			}
			if operation.Slot != slot || operation.Overwritten != uint32(overwritten) {
				t.Fatalf("seed %d, operation %d %+v: the kernel says slot %d, overwritten %d; the model %d, %d",
					seed, i, seen, operation.Slot, operation.Overwritten, slot, overwritten)
			}
		}
	}
}
