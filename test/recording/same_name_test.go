package recording

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/test/oracle"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestNodesOfOneName records nodes of the same name and namespace from their start and by late attach: everything that
// happens is found at the node that it belongs to, which only its handle tells from the others.
func TestNodesOfOneName(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l layout) {
		t.Parallel()
		n, first := recordFromTheBeginning(t, l, session.Configuration{}, behaviours["same_name"])
		n.WaitReady()
		second := record(t, session.Configuration{PIDs: n.pidText()})
		second.waitForRows(trace.TableCallback, enough)
		attached := second.stop()
		fromStart := first.stop()
		truth := n.stop()
		first.requireExact(fromStart, truth, oracle.Circumstances{})
		second.requireExact(attached, truth, oracle.Circumstances{Found: true})
		for what, recorded := range map[string]struct {
			recording *recording
			data      *oracle.Dataset
		}{"from the start": {first, fromStart}, "by late attach": {second, attached}} {
			t.Run(what, func(t *testing.T) {
				oracle.RequireEntities(t, recorded.data, truth, recorded.recording.span(recorded.data, truth.Header.PID))
				requireNamesakes(t, recorded.data, 3)
			})
		}
		oracle.RequireSameEntities(t, truth.Header.PID, attached, fromStart)
	})
}

// requireNamesakes demands so many nodes of the same name, whose subscriptions and timers are not one node's.
func requireNamesakes(t *testing.T, data *oracle.Dataset, count int) {
	t.Helper()
	nodes, names := map[trace.Address]bool{}, map[string]bool{}
	for _, row := range data.Nodes {
		nodes[row.NodeHandle] = true
		names[row.Namespace+" "+row.NodeName] = true
	}
	if len(nodes) != count || len(names) != 1 {
		t.Errorf("%d nodes with the names %v, want %d with one", len(nodes), names, count)
	}
	subscribers, timers := map[trace.Address]bool{}, map[trace.Address]bool{}
	for _, row := range data.Subscriptions {
		subscribers[row.NodeHandle] = true
	}
	for _, row := range data.Timers {
		timers[row.NodeHandle] = true
	}
	for node := range nodes {
		if !subscribers[node] || !timers[node] {
			t.Errorf("node %#x has subscriptions: %t, timers: %t", uint64(node), subscribers[node], timers[node])
		}
	}
}
