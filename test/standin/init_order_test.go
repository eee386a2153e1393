package standin

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// The init events of an intra-process subscription come in the order of its parts, the subscription's own call of rcl
// first.
func TestInitOrderOfIntraProcessSubscriptions(t *testing.T) {
	forEach(t, func(t *testing.T, config Config) {
		truth := run(t, config, "--intra-process --topics 2 --depth 7")
		if len(truth.IPBToSubscriptions) != 2 || len(truth.BufferToIPBs) != 2 || len(truth.ConstructRingBuffers) != 2 {
			t.Fatalf("%+v, %+v, %+v", truth.ConstructRingBuffers, truth.BufferToIPBs, truth.IPBToSubscriptions)
		}
		for i, subscription := range truth.Subscriptions {
			var created groundtruth.Bracket
			for _, init := range truth.EntityInits {
				if init.Handle == subscription.Subscription {
					created = init.Bracket
				}
			}
			ring, front, owner := truth.ConstructRingBuffers[i], truth.BufferToIPBs[i], truth.IPBToSubscriptions[i]
			if ring.Buffer != subscription.Buffer || ring.Capacity != 7 || front.Buffer != ring.Buffer ||
				owner.IPB != front.IPB || owner.Subscription != subscription.IntraObject {
				t.Errorf("subscription %+v has %+v, %+v, %+v", subscription, ring, front, owner)
			}
			times := []groundtruth.Bracket{created, ring.Bracket, front.Bracket, owner.Bracket}
			for j := range times[1:] {
				if !times[j].Happened() || times[j].After > times[j+1].Before {
					t.Errorf("subscription %+v: %v are out of order", subscription, times)
				}
			}
			if last := owner.Bracket.After; last > subscription.Time {
				t.Errorf("subscription %+v was there before %d", subscription, last)
			}
		}
	})
}
