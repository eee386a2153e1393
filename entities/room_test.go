package entities

import (
	"errors"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// places is a Meter of so many.
type places int

func (p *places) Take(count int) error {
	if int(*p) < count {
		return errors.New("no more")
	}
	*p -= places(count)
	return nil
}

func (p *places) Give(count int) { *p += places(count) }

// TestEntitiesAreBounded: a process can announce as many entities as it likes, at any addresses. Those beyond the limit
// stay unknown, and what is known goes on to be.
func TestEntitiesAreBounded(t *testing.T) {
	const total = 4 * placesAtOnce
	left := places(total)
	g := New(trace.ProcessKey{PID: 7})
	g.Limit(&left)
	for i := range uint64(100_000) {
		g.Init(InitEvent{Event: abi.EventRclNodeInit, Time: int64(i), Arguments: [6]uint64{0x1000 + 8*i, 1}, String1: "node", String2: "/"})
		g.Init(InitEvent{Event: abi.EventRclPublisherInit, Time: int64(i), Arguments: [6]uint64{0x1000 + 8*i, 0x1000, 0x2000 + 8*i}, String1: "/topic"})
		if _, known := g.Node(0x1000, int64(i)); !known {
			t.Fatal("the first one is known no more")
		}
	}
	if known := g.places(); known < total/2 || known > total+placesAtOnce {
		t.Errorf("%d places are remembered", known)
	}
	if left != 0 {
		t.Errorf("%d places are left", left)
	}
	g = g.Successor()
	if left != total {
		t.Errorf("%d places are left to another program", left)
	}
	g.Init(InitEvent{Event: abi.EventRclNodeInit, Time: 1, Arguments: [6]uint64{0x1000, 1}, String1: "node", String2: "/"})
	if _, known := g.Node(0x1000, 1); !known || left == total {
		t.Errorf("known: %v; %d places are left", known, left)
	}
	g.Release()
	if left != total {
		t.Errorf("%d places are left in the end", left)
	}
}
