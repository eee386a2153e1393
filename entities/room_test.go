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

// TestFewEntitiesAreForgotten: where entities come and go at addresses that are used again, there are few places, and
// of those that ended long ago none is known nevertheless.
func TestFewEntitiesAreForgotten(t *testing.T) {
	left := places(placesAtOnce)
	g := New(trace.ProcessKey{PID: 7})
	g.Limit(&left)
	const step, addresses = int64(remembered) / 50, 200
	for i := range int64(5000) {
		node, at := uint64(0x1000+64*(i%addresses)), (i+1)*step
		g.Init(InitEvent{Event: abi.EventRclNodeInit, Time: at, Arguments: [6]uint64{node, 1}, String1: "goes", String2: "/"})
		g.End(abi.EventRclNodeFini, trace.Address(node), at+step/2)
		g.Rows(false)
		known := 0
		for _, nodes := range g.nodes.lives {
			known += len(nodes)
		}
		if most := 50 + fewEvents; known > most+1 {
			t.Fatalf("%d nodes are known after %d, at most %d", known, i, most)
		}
	}
}

// TestEntitiesThatEndedMakeRoom: however many entities come and go, the places are enough. Those that live, and those
// that ended just now, are known.
func TestEntitiesThatEndedMakeRoom(t *testing.T) {
	const total = 8 * placesAtOnce
	left := places(total)
	g := New(trace.ProcessKey{PID: 7})
	g.Limit(&left)
	const step = int64(remembered) / 200
	stays := InitEvent{Event: abi.EventRclNodeInit, Time: 1, Arguments: [6]uint64{0x10, 1}, String1: "stays", String2: "/"}
	g.Init(stays)
	for i := range int64(50_000) {
		node, publisher, at := uint64(0x1000+64*i), uint64(0x1008+64*i), (i+1)*step
		g.Init(InitEvent{Event: abi.EventRclNodeInit, Time: at, Arguments: [6]uint64{node, 1}, String1: "goes", String2: "/"})
		g.Init(InitEvent{Event: abi.EventRclPublisherInit, Time: at, Arguments: [6]uint64{publisher, node, publisher + 4}, String1: "/topic"})
		if _, known := g.Publisher(trace.Address(publisher), at); !known {
			t.Fatalf("publisher %d is not known while it lives", i)
		}
		g.End(abi.EventRclPublisherFini, trace.Address(publisher), at+step/2)
		g.End(abi.EventRclNodeFini, trace.Address(node), at+step/2)
		if _, known := g.Publisher(trace.Address(publisher), at); !known {
			t.Fatalf("publisher %d is not known after its end", i)
		}
		g.Rows(false)
	}
	if taken := total - int(left); taken > 4*placesAtOnce {
		t.Errorf("%d places are taken", taken)
	}
	if n, known := g.Node(0x10, 50_000*step); !known || n.NodeName != "stays" {
		t.Errorf("the node that stays is %+v, known: %v", n, known)
	}
	if !g.HasNodes() {
		t.Error("it has no nodes")
	}
	// What is in memory now is not who was there before somebody was forgotten.
	read := func(trace.Address) (*publisher, error) { return &publisher{life: life{since: always}}, nil }
	for at, known := range map[int64]bool{10 * step: false, 50_000 * step: true} {
		if _, found := find(g, g.publishers.lives, 0x1008, at, "publisher", read); found != known {
			t.Errorf("at %d somebody is found in memory: %v", at, found)
		}
	}
}
