package merge_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestClientIdentity: what the kernel side reads of a client when it is initialized is what its requests are said to
// carry, although nothing is known of its memory.
func TestClientIdentity(t *testing.T) {
	const handle = "\x01\x02\x03\x04\x05\x06\x07\x08"
	const guids = "\x0a\x00\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00\x00\x00\x01\x03" + "\x0a\x00\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00\x00\x00\x02\x04"
	for name, test := range map[string]struct {
		identity string
		size     uint64
		gid      string
	}{
		"Cyclone DDS":     {handle, 8, "0102030405060708"},
		"Fast DDS":        {guids, 32, "0a000000000000000b00000000000204"},
		"not read":        {handle, 0, ""},
		"a size too many": {guids, 1 << 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(merge.Options{})
			for _, record := range [][]byte{
				initEvent(abi.EventRclNodeInit, 1, "node", "/ns", 0x10, 0x11),
				initEvent(abi.EventRclClientInit, 2, "/s", test.identity, 0x70, 0x10, 0x71, 0, test.size),
				encode(abi.ServiceRecord{Header: header(abi.KindService, abi.ServiceRequestSent, 0), TimeNs: 100, Handle: 0x70, Sequence: 5}),
			} {
				if err := m.Record(record); err != nil {
					t.Fatal(err)
				}
			}
			var services []trace.Service
			if err := m.Take(func(r *merge.Rows) error {
				services = append(services, r.Services...)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if len(services) != 1 || services[0].ServiceName != "/s" || services[0].ClientGID != test.gid {
				t.Errorf("rows %+v", services)
			}
		})
	}
}
