package merge_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
)

// fastDDSGUIDs are those of a writer and a reader of one participant.
const fastDDSGUIDs = "\x0a\x00\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00\x00\x00\x01\x03" + "\x0a\x00\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00\x00\x00\x02\x04"

// TestClientIdentity: what the kernel side reads of a client when it is initialized is what its requests are said to
// carry, although nothing is known of its memory.
func TestClientIdentity(t *testing.T) {
	const handle = "\x01\x02\x03\x04\x05\x06\x07\x08"
	for name, test := range map[string]struct {
		identity string
		size     uint64
		gid      string
	}{
		"Cyclone DDS":     {handle, 8, "0102030405060708"},
		"Fast DDS":        {fastDDSGUIDs, 32, "0a000000000000000b00000000000204"},
		"not read":        {handle, 0, ""},
		"a size too many": {fastDDSGUIDs, 1 << 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			services := feed(t, merge.Options{},
				initEvent(abi.EventRclNodeInit, 1, "node", "/ns", 0x10, 0x11),
				initEvent(abi.EventRclClientInit, 2, "/s", test.identity, 0x70, 0x10, 0x71, 0, test.size),
				encode(abi.ServiceRecord{Header: header(abi.KindService, abi.ServiceRequestSent, 0), TimeNs: 100, Handle: 0x70, Sequence: 5}),
			).Services
			if len(services) != 1 || services[0].ServiceName != "/s" || services[0].ClientGID != test.gid {
				t.Errorf("rows %+v", services)
			}
		})
	}
}

// TestTakenRequestNamesItsClient: what a request's header says of its client depends on the implementation of rmw. A
// service's initialization tells that, or a client's, before anything can be read of the process's memory.
func TestTakenRequestNamesItsClient(t *testing.T) {
	words := [2]uint64{0x0807060504030201, 0x100f0e0d0c0b0a09}
	client := func(identity string) []byte {
		return initEvent(abi.EventRclClientInit, 2, "/s", identity, 0x70, 0x10, 0x71, 0, uint64(len(identity)))
	}
	service := func(implementation string) []byte {
		return initEvent(abi.EventRclServiceInit, 2, "/s", implementation, 0x60, 0x10, 0x61)
	}
	for name, test := range map[string]struct {
		created []byte
		gid     string
	}{
		"a service of Cyclone DDS":         {service("rmw_cyclonedds_cpp"), "0102030405060708"},
		"a service of Fast DDS":            {service("rmw_fastrtps_cpp"), "0102030405060708090a0b0c0d0e0f10"},
		"a client of Cyclone DDS":          {client("\x01\x02\x03\x04\x05\x06\x07\x08"), "0102030405060708"},
		"a client of Fast DDS":             {client(fastDDSGUIDs), "0102030405060708090a0b0c0d0e0f10"},
		"a client that could not be read":  {client(""), ""},
		"a service that could not be read": {service(""), ""},
		"a name that is none":              {service("\x1b[31mrmw_"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			services := feed(t, merge.Options{},
				test.created,
				encode(abi.ServiceRecord{Header: header(abi.KindService, abi.ServiceRequestTaken, 0), TimeNs: 100, Handle: 0x60, GID: words, Sequence: 5}),
			).Services
			if len(services) != 1 || services[0].ClientGID != test.gid {
				t.Errorf("rows %+v, want client %q", services, test.gid)
			}
		})
	}
}
