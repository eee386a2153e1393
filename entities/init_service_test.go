package entities

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestCopiesOfServices: rclcpp serves what rcl made for a managed node through a copy of the handle, which no init
// event names.
func TestCopiesOfServices(t *testing.T) {
	eachLayout(t, func(t *testing.T, m *image) {
		node, service := m.node("talker", "/demo"), m.service("/demo/talker/get_state")
		_, callback := m.serviceObject(service, node)
		g := m.graph()
		g.addServiceCallback(5, trace.Address(service), callback, 0)
		row, ok := g.Service(trace.Address(service), 6)
		if !ok || row.NodeHandle != trace.Address(node) || row.NodeName != "/demo/talker" || row.ServiceName != "/demo/talker/get_state" {
			t.Errorf("service %+v", row)
		}
	})
}

// TestManagedServiceIsOne: the service that rcl announces and the copy of its handle that rclcpp serves are one
// service, which has the copy's address and ends with rcl's handle; the next node may have its services at the same
// addresses.
func TestManagedServiceIsOne(t *testing.T) {
	for _, found := range []string{"by its callback", "by a scan"} {
		t.Run(found, func(t *testing.T) {
			eachLayout(t, func(t *testing.T, m *image) {
				node, original, copied := m.node("talker", "/demo"), m.service("/demo/talker/get_state"), m.object()
				impl := m.get(original + m.layout.Service.Impl)
				m.set(copied+m.layout.Service.Impl, impl)
				rmw := m.get(impl + m.layout.Service.RMWHandle)
				_, callback := m.serviceObject(copied, node)
				g := m.graph()
				for life := range int64(2) {
					begin := 10 * life
					g.Init(event(abi.EventRclServiceInit, begin+1, original, node, rmw, "/demo/talker/get_state", impl))
					if found == "by a scan" {
						g.Apply(&Snapshot{Begin: begin + 4, Entities: trace.Batch{ServiceServers: []trace.ServiceServer{{
							ServiceHandle: trace.Address(copied), RMWServiceHandle: trace.Address(rmw), Callback: callback,
							ServiceName: "/demo/talker/get_state", Provenance: trace.FromMemory,
						}}}})
					} else {
						g.addServiceCallback(begin+2, trace.Address(copied), callback, trace.Address(impl))
					}
					g.End(abi.EventRclServiceFini, trace.Address(original), begin+8)
				}
				rows := g.Rows(true).ServiceServers
				if len(rows) != 2 {
					t.Fatalf("%d services: %+v", len(rows), rows)
				}
				for life, row := range rows {
					begin := 10 * int64(life)
					if row.ServiceHandle != trace.Address(copied) || row.Callback != callback || row.NodeName != "/demo/talker" ||
						row.InitTimestamp != trace.Some(begin+1) || row.EndTimestamp != trace.Some(begin+8) || row.Provenance != trace.FromTracepoint {
						t.Errorf("life %d: %+v", life, row)
					}
				}
			})
		})
	}
}
