package loader

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/test/measure"
)

// firstTID is more than the ID of any real thread, whose end would be that of one of a test.
const firstTID = 1 << 30

// withThreads is a loader in which the kernel side knows of so many threads of PID 77. That with the ID n was charged n
// nanoseconds.
func withThreads(tb testing.TB, count int) *Loader {
	tb.Helper()
	requireRoot(tb)
	l, err := New(tb.Context(), Options{RingBytes: 4096})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	for i := range uint32(count) {
		tid := firstTID + i
		state := abi.ThreadState{PID: 77, TID: tid}
		state.Account.CostNs = uint64(tid)
		if err := l.collection.Maps[bpf.CaretMapThreads].Put(tid, &state); err != nil {
			tb.Fatal(err)
		}
	}
	return l
}

// TestAccounts: however many threads there are, each is told of once.
func TestAccounts(t *testing.T) {
	for _, count := range []int{0, 1, threadsAtOnce, 5*threadsAtOnce + 1} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			l := withThreads(t, count)
			var tids []uint32
			err := l.Accounts(func(account abi.ThreadRecord) {
				if account.Header.PID != 77 || account.CostNs != uint64(account.Header.TID) {
					t.Errorf("%+v", account)
				}
				tids = append(tids, account.Header.TID)
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(tids)
			if len(tids) != count || len(slices.Compact(tids)) != count || count > 0 && int(tids[count-1]) != firstTID+count-1 {
				t.Errorf("%d threads, want %d", len(tids), count)
			}
			if live, err := l.Threads(); err != nil || len(live) != count {
				t.Errorf("%d states, %v", len(live), err)
			}
		})
	}
}

// accountsOneByOne counts accounts that are read with two system calls for each thread.
func accountsOneByOne(b *testing.B, threads *ebpf.Map) (count int) {
	b.Helper()
	var key any
	var tid uint32
	for {
		err := threads.NextKey(key, &tid)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return count
		}
		if err != nil {
			b.Fatal(err)
		}
		key = tid
		encoded, err := threads.LookupBytes(tid)
		if err != nil {
			b.Fatal(err)
		}
		var state abi.ThreadState
		if err := abi.Decode(encoded, &state); err != nil {
			b.Fatal(err)
		}
		count++
	}
}

// BenchmarkAccounts measures what it takes to read the accounts of a vehicle's threads, in processor time of all of
// this process's threads: medians of what is measured in turn.
func BenchmarkAccounts(b *testing.B) {
	l := withThreads(b, 10_000)
	threads := l.collection.Maps[bpf.CaretMapThreads]
	var oneByOne, atOnce []float64
	for b.Loop() {
		oneByOne = append(oneByOne, processorTimeOf(b, func() int { return accountsOneByOne(b, threads) }))
		atOnce = append(atOnce, processorTimeOf(b, func() (count int) {
			if err := l.Accounts(func(abi.ThreadRecord) { count++ }); err != nil {
				b.Fatal(err)
			}
			return count
		}))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(measure.Median(oneByOne), "ms/one-by-one")
	b.ReportMetric(measure.Median(atOnce), "ms/at-once")
}

// processorTimeOf is what this process takes for a call that is to find 10,000 threads, in milliseconds.
func processorTimeOf(b *testing.B, do func() int) float64 {
	b.Helper()
	now := func() int64 {
		var at unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at); err != nil {
			b.Fatal(err)
		}
		return at.Nano()
	}
	begin := now()
	if count := do(); count != 10_000 {
		b.Fatalf("%d threads", count)
	}
	return float64(now()-begin) / float64(time.Millisecond)
}
