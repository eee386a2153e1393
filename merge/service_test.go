package merge_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestForeignResponses: Cyclone DDS shows each client the headers of the responses to all clients. Fast DDS names
// clients otherwise, and shows their own only. What rcl says was taken is never dropped: if it is another client's, the
// one that is known lived at the address at another time, and names nothing.
func TestForeignResponses(t *testing.T) {
	const own = "0102030405060708"
	for name, test := range map[string]struct {
		rmw, client string
		gid         [2]uint64
		flags       uint8
		rows        int
		name, told  string
	}{
		"own":                  {"rmw_cyclonedds_cpp", own, [2]uint64{0x0807060504030201, 0x99}, 0, 1, "/s", own},
		"own, and taken":       {"rmw_cyclonedds_cpp", own, [2]uint64{0x0807060504030201, 0x99}, abi.FlagTaken, 1, "/s", own},
		"another client's":     {"rmw_cyclonedds_cpp", own, [2]uint64{0x1807060504030201, 0x99}, 0, 0, "", ""},
		"another's, and taken": {"rmw_cyclonedds_cpp", own, [2]uint64{0x1807060504030201, 0x99}, abi.FlagTaken, 1, "", "0102030405060718"},
		"of an unknown client": {"rmw_cyclonedds_cpp", "", [2]uint64{0x1807060504030201, 0x99}, 0, 1, "/s", ""},
		"Fast DDS":             {"rmw_fastrtps_cpp", own + own, [2]uint64{0x1807060504030201, 0x99}, 0, 1, "/s", own + own},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMerger(merge.Options{})
			if err := m.Record(initEvent(abi.EventRclNodeInit, 1, "node", "/ns", 0x10, 0x11)); err != nil {
				t.Fatal(err)
			}
			if err := m.Update(tracedProcess, func(p *merge.Process) error {
				p.RMWImplementation = test.rmw
				p.Graph.Apply(&entities.Snapshot{Entities: trace.Batch{Clients: []trace.Client{{
					ClientHandle: 0x70, ServiceName: "/s", NodeName: "/n", GID: test.client, Provenance: trace.FromMemory,
				}}}})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := m.Record(encode(abi.ServiceRecord{
				Header: header(abi.KindService, abi.ServiceResponseTaken, test.flags), TimeNs: 100, Handle: 0x70, GID: test.gid, Sequence: 5,
			})); err != nil {
				t.Fatal(err)
			}
			var services []trace.Service
			if err := m.Take(func(r *trace.Batch) error {
				services = append(services, r.Services...)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if len(services) != test.rows || test.rows == 1 && (services[0].ServiceName != test.name || services[0].ClientGID != test.told) {
				t.Errorf("rows %+v", services)
			}
		})
	}
}
