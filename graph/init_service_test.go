package graph

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestCopiesOfServices: rclcpp serves what rcl made for a managed node through a copy of the handle, which no init event names.
func TestCopiesOfServices(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		node, service := m.node("talker", "/demo"), m.service("/demo/talker/get_state")
		_, callback := m.serviceObject(service, node)
		g := m.graph()
		g.addServiceCallback(5, trace.Address(service), callback)
		row, ok := g.Service(trace.Address(service), 6)
		if !ok || row.NodeHandle != trace.Address(node) || row.NodeName != "/demo/talker" || row.ServiceName != "/demo/talker/get_state" {
			t.Errorf("service %+v", row)
		}
	})
}
