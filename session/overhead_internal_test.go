package session

import (
	"math"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// account is that of a thread of PID 1 with hits of callback_start, each 100 ns, and of rmw_publish, each 1000 ns.
func account(tid uint32, starts, publishes uint64) abi.ThreadRecord {
	record := abi.ThreadRecord{Header: abi.RecordHeader{Kind: abi.KindThread, PID: 1, TID: tid}, CostNs: 100*starts + 1000*publishes}
	record.Units[abi.EventCallbackStart] = abi.HitCount{Hits: starts, CostNs: 100 * starts}
	record.Units[abi.EventRMWPublish] = abi.HitCount{Hits: publishes, CostNs: 1000 * publishes}
	return record
}

func TestOverheadWindows(t *testing.T) {
	o := newOverhead()
	if windows := o.look([]abi.ThreadRecord{account(7, 10, 10)}, 1000); len(windows) != 0 || o.highest() != 0 {
		t.Errorf("the first look has nothing to compare with: %+v", windows)
	}
	expect := func(at int64, accounts []abi.ThreadRecord, charged int, tid int32, share float64) {
		t.Helper()
		windows := o.look(accounts, at)
		if len(windows) != charged {
			t.Fatalf("%d windows, want %d", len(windows), charged)
		}
		if charged == 0 {
			if o.highest() != 0 {
				t.Errorf("%v of none", o.highest())
			}
			return
		}
		if w := windows[0]; w.TID != tid || math.Abs(w.Share-share) > 1e-9 || math.Abs(o.highest()-share) > 1e-9 {
			t.Errorf("thread %d with %v, want %d with %v", w.TID, w.Share, tid, share)
		}
	}
	expect(11_000, []abi.ThreadRecord{account(7, 20, 10), account(8, 30, 0)}, 2, 8, 0.3) // one that is new since the last look
	expect(21_000, []abi.ThreadRecord{account(8, 30, 0)}, 0, 0, 0)                       // 7 was missed
	expect(31_000, []abi.ThreadRecord{account(7, 20, 14), account(8, 30, 0)}, 1, 7, 0.2) // over the two windows
	expect(41_000, []abi.ThreadRecord{account(7, 5, 0)}, 1, 7, 0.05)                     // another thread with the id
	o.look(nil, 41_000+forgottenAfter.Nanoseconds()+1)
	if len(o.running) != 0 {
		t.Errorf("%d threads are not forgotten", len(o.running))
	}
}

// TestAccountsAreLeft: while nothing is recorded the accounts are looked at now and then only, and once more when that
// begins: the last window has what was charged at its begin.
func TestAccountsAreLeft(t *testing.T) {
	o := newOverhead()
	at := int64(time.Hour)
	for i, step := range []struct {
		records uint64
		due     bool
	}{{7, true}, {7, true}, {7, false}, {7, false}, {8, true}, {8, true}, {8, false}, {8, false}, {8, false}, {8, false}, {8, true}, {8, false}} {
		at += tickInterval.Nanoseconds()
		due := o.isDue(step.records, at)
		if due != step.due {
			t.Errorf("step %d: due: %v", i, due)
		}
		if due {
			o.look(nil, at)
		}
	}
}

func TestOverheadReport(t *testing.T) {
	o := newOverhead()
	o.look(nil, 1)
	o.look([]abi.ThreadRecord{account(1, 40, 0)}, 10_001)
	o.end(account(1, 100, 0))
	o.look([]abi.ThreadRecord{account(1, 90, 0)}, 20_001) // was read before the thread ended
	for tid := range uint32(5 * maxThreads) {
		o.end(account(1000+tid, 0, uint64(tid)))
	}
	const n = 5 * maxThreads
	got := o.report(&probes.Costs{Instructions: map[string]time.Duration{"push": 100}, Program: 5, Measured: true}, time.Millisecond)
	if got.ThreadCount != n+1 || got.Hits != 100+n*(n-1)/2 || got.Cost != 100*100+1000*n*(n-1)/2 || len(got.Threads) != maxThreads {
		t.Errorf("%d threads (%d listed), %d hits, %d ns", got.ThreadCount, len(got.Threads), got.Hits, got.Cost)
	}
	for i, thread := range got.Threads {
		if want := n - 1 - i; thread.TID != 1000+want || thread.Hits != uint64(want) || thread.Cost != int64(1000*want) || thread.Share != float64(want)/1000 {
			t.Errorf("place %d: %+v", i, thread)
		}
	}
	if len(got.Events) != 2 || got.Events[0].Event != "rmw_publish" || got.Events[1].Hits != 100 || got.Events[1].Cost != 10_000 {
		t.Errorf("%+v", got.Events)
	}
	if !got.Measured || got.InstructionCosts["push"] != 100 || got.ProgramCost != 5 || got.Duration != 1_000_000 {
		t.Errorf("%+v", got)
	}
}

func TestPeakShareIsKept(t *testing.T) {
	o := newOverhead()
	o.look(nil, 1)
	o.look([]abi.ThreadRecord{account(1, 40, 0)}, 10_001)
	o.look([]abi.ThreadRecord{account(1, 41, 0)}, 20_001)
	o.end(account(1, 41, 0))
	if got := o.report(probes.DefaultCosts(), time.Millisecond).Threads[0]; math.Abs(got.PeakShare-0.4) > 1e-9 {
		t.Errorf("%+v", got)
	}
}
