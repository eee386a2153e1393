package session

import (
	"errors"
	"os"
	"testing"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TestAddressesOfTheKernelSideAreShared: whatever other users' processes have of what the filter leaves out and of
// message stamps, there is room in the kernel for one's own.
func TestAddressesOfTheKernelSideAreShared(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loading BPF programs needs root: run the tests with sudo")
	}
	l, err := loader.New(t.Context(), loader.Options{FilterAddresses: true, MessageStamps: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	shared, j := target.NewFinder().Quota(), newJournal(Observer{})
	all := newProcesses(datasetClock{}, nil, j)
	filtered, stamped := newIgnored(l, shared, all, j), newHeaders(l, shared, all, j)
	const users = 5
	entries := map[int32]*process{}
	for user := int32(1); user <= users; user++ {
		entries[user] = &process{payer: uint32(user), row: trace.Process{ProcessKey: trace.ProcessKey{PID: user}}}
		all.put(entries[user])
	}
	fill := func(name string, take func(pid int32, address uint64) error, give func(pid int32)) {
		most := uint64(0)
		for pid := int32(1); pid <= users; pid++ {
			held, err := uint64(0), error(nil)
			for ; err == nil; held++ {
				err = take(pid, held+1)
			}
			if !errors.Is(err, quota.ErrUsedUp) {
				t.Errorf("%s, user %d: %v", name, pid, err)
			}
			if held < 1<<16>>(users+1) {
				t.Errorf("%s: user %d has had room for %d only", name, pid, held)
			}
			most = max(most, held)
		}
		give(1)
		again := uint64(0)
		for ; take(1, again+1) == nil; again++ {
		}
		if again < most/2 {
			t.Errorf("%s: of %d that were given back there is room for %d", name, most, again)
		}
	}
	refusals := func() int { return len(shared.Refusals()) }
	fill("ignored", func(pid int32, address uint64) error {
		before := refusals()
		switch {
		case filtered.decide(pid, address, true):
			return nil
		case refusals() > before, shared.Of(uint32(pid)).Take(quota.Ignored, 1) != nil:
			return quota.ErrUsedUp
		}
		return errors.New("the kernel side has no room")
	}, func(pid int32) {
		for address := filtered.holders[pid].held; address > 0; address-- {
			filtered.decide(pid, uint64(address), false)
		}
	})
	fill("headers", func(pid int32, address uint64) error {
		return stamped.set(entries[pid], address, 8, false)
	}, func(pid int32) { stamped.forget(entries[pid]) })
}
