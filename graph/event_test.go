package graph_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/graph"
	"github.com/caret-bpf/caret-bpf/probes"
)

// TestEventNumbers: the records carry the numbers that probes puts into the cookies.
func TestEventNumbers(t *testing.T) {
	for id, event := range map[graph.EventID]probes.Event{
		graph.RclNodeInit:                     probes.EventRclNodeInit,
		graph.RclPublisherInit:                probes.EventRclPublisherInit,
		graph.RclSubscriptionInit:             probes.EventRclSubscriptionInit,
		graph.RclcppSubscriptionInit:          probes.EventRclcppSubscriptionInit,
		graph.RclcppSubscriptionCallbackAdded: probes.EventRclcppSubscriptionCallbackAdded,
		graph.RclTimerInit:                    probes.EventRclTimerInit,
		graph.RclcppTimerCallbackAdded:        probes.EventRclcppTimerCallbackAdded,
		graph.RclcppTimerLinkNode:             probes.EventRclcppTimerLinkNode,
		graph.RclcppCallbackRegister:          probes.EventRclcppCallbackRegister,
		graph.RclServiceInit:                  probes.EventRclServiceInit,
		graph.RclcppServiceCallbackAdded:      probes.EventRclcppServiceCallbackAdded,
	} {
		if uint8(id) != uint8(event) {
			t.Errorf("%s is %d for graph and %d for probes", event, id, event)
		}
	}
}
