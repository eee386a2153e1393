package entities

import (
	"debug/elf"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// guidsOfClient are those of the writer and the reader of a client with Fast DDS; it goes by the second.
const (
	writerGUID    = "01000000000000000200000000000003"
	readerGUID    = "01000000000000000200000000000004"
	guidsOfClient = writerGUID + readerGUID
)

func TestClientIdentity(t *testing.T) {
	const handle = "0102030405060708"
	for name, test := range map[string]struct{ identity, want string }{
		"Fast DDS":              {guidsOfClient, readerGUID},
		"Cyclone DDS":           {handle, handle},
		"none":                  {"", ""},
		"null":                  {strings.Repeat("00", cycloneClientSize), ""},
		"null GUIDs":            {strings.Repeat("00", 2*gidSize), ""},
		"two readers":           {readerGUID + readerGUID, ""},
		"reader, then writer":   {readerGUID + writerGUID, ""},
		"of two participants":   {writerGUID + "ff" + readerGUID[2:], ""},
		"of another size":       {readerGUID, ""},
		"no hexadecimal digits": {strings.Repeat("g", 2*cycloneClientSize), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clientIdentity(test.identity); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestClientAtAReusedAddress: a client is destroyed and another one created at its address before its initialization is
// heard of, with the same rmw client's address and under the same service name. Only the event tells what servers know
// the first one by.
func TestClientAtAReusedAddress(t *testing.T) {
	m := newImage(t, "jazzy", elf.EM_X86_64)
	w := newWorld(t, m)
	second := w.rows().Clients[0]
	data := m.object()
	m.set(uint64(second.RMWClientHandle)+m.layout.GID.ClientData, data)
	for i, word := range []uint64{9, 0x03<<56 | 2, 9, 0x04<<56 | 2} { // the GUIDs of the second one's writer and reader
		m.set(data+m.layout.GID.FastDDSClient+uint64(i)*wordSize, word)
	}
	const gidOfSecond = "09000000000000000200000000000004"
	for name, test := range map[string]struct {
		rmw                   trace.Address
		serviceName, identity string
		wantName, wantGID     string
	}{
		"told by the event":           {second.RMWClientHandle, second.ServiceName, guidsOfClient, second.ServiceName, readerGUID},
		"not told":                    {second.RMWClientHandle, second.ServiceName, "", second.ServiceName, ""},
		"no name, the same handle":    {second.RMWClientHandle, "", guidsOfClient, second.ServiceName, readerGUID},
		"no name, another rmw client": {second.RMWClientHandle + 8, "", guidsOfClient, "", readerGUID},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(testKey)
			g.SetMemory(m, m.layout)
			first := event(abi.EventRclClientInit, 10, second.ClientHandle, second.NodeHandle, test.rmw, test.serviceName)
			first.String2 = test.identity
			g.Init(first)
			client, ok := g.Client(second.ClientHandle, 20)
			if !ok || client.GID != test.wantGID || client.ServiceName != test.wantName {
				t.Errorf("client %+v", client)
			}
		})
	}
	t.Run("a scan sees the second", func(t *testing.T) {
		g := New(testKey)
		g.SetMemory(m, m.layout)
		first := event(abi.EventRclClientInit, 10, second.ClientHandle, second.NodeHandle, second.RMWClientHandle, second.ServiceName)
		first.String2 = guidsOfClient
		g.Init(first)
		seen := second
		seen.GID = gidOfSecond
		// The scan began while the first lived; that it ended is not heard of yet.
		g.Apply(&Snapshot{Begin: 15, Entities: trace.Batch{Clients: []trace.Client{seen}}})
		if client, ok := g.Client(second.ClientHandle, 20); !ok || client.GID != readerGUID {
			t.Errorf("client %+v", client)
		}
	})
}
