package analyze

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestCallbacksThatStartInALaterWindow: a message is taken out of a full buffer, another one gets its slot, and only
// then, in the next window, the callback starts that it was taken for.
func TestCallbacksThatStartInALaterWindow(t *testing.T) {
	const slot = 5
	for name, index := range map[string]uint64{"near": slot, "far": slot + nearSlots, "overtaken": slot} {
		t.Run(name, func(t *testing.T) {
			node := new(system.Node)
			publisher := &system.Publisher{Node: node, TopicName: "/chatter"}
			subscription := &system.Subscription{Node: node, TopicName: "/chatter", Buffer: 8}
			var got []passage
			p := newPassages(&Query{Architecture: new(system.Architecture)},
				func(*system.Publisher, *system.Subscription) bool { return true }, func(of passage) { got = append(got, of) })
			var departures []*departure
			var enqueues []*enqueue
			for i, at := range []int64{10, 30, 60} {
				number := publishNumber{number: uint64(i)}
				departures = append(departures, &departure{publisher: publisher, at: at, intra: at, rcl: noTime, rmw: noTime, enqueues: 1, number: number})
				enqueues = append(enqueues, &enqueue{subscription: subscription, at: at + 1, index: trace.Some(index), number: number, published: true})
			}
			taken := func(at, start int64) *arrival {
				return &arrival{subscription: subscription, intra: true, dequeue: trace.Some(index), take: at, start: start}
			}
			early := []*arrival(nil)
			late := []*arrival{taken(20, 50), taken(55, 56)}
			if name == "overtaken" { // by a callback of another thread, which empties the slot again
				early, late = []*arrival{taken(33, 34)}, []*arrival{taken(20, 50)}
			}
			p.add(&messageWindow{departures: departures[:2], enqueues: enqueues[:2], arrivals: early, limit: 40})
			p.add(&messageWindow{departures: departures[2:], enqueues: enqueues[2:], arrivals: late, limit: math.MaxInt64})
			p.end()
			want := []struct {
				fate  Fate
				start int64
			}{{Received, 50}, {Received, 56}, {Open, 0}}
			if name == "overtaken" {
				want[1].start = 34
			}
			slices.SortFunc(got, func(a, b passage) int { return cmp.Compare(a.departure.at, b.departure.at) })
			if len(got) != len(want) {
				t.Fatalf("%d passages", len(got))
			}
			for i, of := range got {
				start := int64(0)
				if of.arrival != nil {
					start = of.arrival.start
				}
				if of.departure != departures[i] || of.fate != want[i].fate || start != want[i].start {
					t.Errorf("message %d: %s, received at %d, want %+v", of.departure.at, of.fate, start, want[i])
				}
			}
		})
	}
}
