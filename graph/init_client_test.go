package graph

import (
	"debug/elf"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestClientAtAReusedAddress: what memory says of an address is said of the client of the event only where it is still that client.
func TestClientAtAReusedAddress(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	want := w.rows().Clients[0]
	data := m.object()
	m.set(uint64(want.RMWClientHandle)+m.layout.GID.ClientData, data)
	for i, word := range []uint64{1, 0x03<<56 | 2, 1, 0x04<<56 | 2} { // the GUIDs of its writer and its reader
		m.set(data+m.layout.GID.FastDDSClient+uint64(i)*wordSize, word)
	}
	const gid = "01000000000000000200000000000004"
	for name, test := range map[string]struct {
		rmw         trace.Address
		serviceName string
		same        bool
	}{
		"the same":           {want.RMWClientHandle, want.ServiceName, true},
		"another rmw client": {want.RMWClientHandle + 8, want.ServiceName, false},
		"another service":    {want.RMWClientHandle, "/another", false},
		"name not read":      {want.RMWClientHandle, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			g.SetMemory(m, m.layout)
			g.Init(event(RclClientInit, 10, want.ClientHandle, want.NodeHandle, test.rmw, test.serviceName))
			client, ok := g.Client(want.ClientHandle, 20)
			if !ok || test.same && client.GID != gid || !test.same && client.GID != "" {
				t.Errorf("client %+v", client)
			}
			if test.same && client.ServiceName != want.ServiceName {
				t.Errorf("service %q", client.ServiceName)
			}
		})
	}
}
