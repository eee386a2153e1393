package loader

import (
	"errors"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// TestProcessesAreForgotten: what is remembered of addresses in processes that are over is freed, so that there is room
// for those that come later.
func TestProcessesAreForgotten(t *testing.T) {
	requireRoot(t)
	ways := ways()
	ways[0].require(t)
	l := ways[0].load(t, Options{MessageStamps: true, FilterAddresses: true})
	const addresses = 1000
	for _, name := range addressMaps {
		m := l.collection.Maps[name]
		for i := range uint64(addresses) {
			for pid := uint32(1); pid <= 3; pid++ {
				if err := m.Put(abi.ProcessAddress{Address: 8 * i, PID: pid}, make([]byte, m.ValueSize())); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := l.ForgetProcesses([]int32{1, 3}); err != nil {
		t.Fatal(err)
	}
	for _, name := range addressMaps {
		m := l.collection.Maps[name]
		counts := map[uint32]int{}
		var key abi.ProcessAddress
		err := m.NextKey(nil, &key)
		for ; err == nil; err = m.NextKey(key, &key) {
			counts[key.PID]++
		}
		if !errors.Is(err, ebpf.ErrKeyNotExist) || len(counts) != 1 || counts[2] != addresses {
			t.Errorf("%s: %v, %v", name, counts, err)
		}
	}
}

// TestEveryMapOfAddressesIsFreed: each map whose keys are addresses in processes is one of those that are freed.
func TestEveryMapOfAddressesIsFreed(t *testing.T) {
	for name, m := range loadSpec(t).Maps {
		if m.Key != nil && m.Key.TypeName() == "process_address" && !slices.Contains(addressMaps, name) {
			t.Errorf("%s is not", name)
		}
	}
	if !slices.Contains(addressMaps, bpf.CaretMapSubscriptionRings) {
		t.Error("nothing is")
	}
}
