package session

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

// forgottenAfter is when a thread that was not seen any more is forgotten. One look may miss it.
const forgottenAfter = 10 * tickInterval

// quietInterval is how often the accounts are looked at while nothing is recorded.
const quietInterval = 5 * tickInterval

// maxThreads bounds how many threads session.json tells the cost of.
const maxThreads = 100

// overhead keeps what the recording costs the traced threads. Its methods may be called from several goroutines.
type overhead struct {
	mu       sync.Mutex // guards what follows
	lookedAt int64      // CLOCK_MONOTONIC in nanoseconds; 0: never
	records  uint64     // of isDue's last call
	quiet    bool       // there were no more than at the call before
	worst    float64    // the highest share of the last window
	running  map[int32]*threadCost
	ended    []*threadCost              // the dearest
	shorter  int                        // threads that have ended and are not among them
	units    [abi.HitUnits]abi.HitCount // of all that have ended
}

// threadCost is what the recording has cost a thread so far.
type threadCost struct {
	pid, tid int32
	account  abi.ThreadRecord
	lookedAt int64   // CLOCK_MONOTONIC in nanoseconds; 0: never
	peak     float64 // the highest share in one window
}

func newOverhead() *overhead { return &overhead{running: map[int32]*threadCost{}} }

// look takes the accounts of the threads that run, at an instant of CLOCK_MONOTONIC, and returns what those were
// charged since the last look that were charged anything, the dearest first.
func (o *overhead) look(accounts []abi.ThreadRecord, at int64) []attaching.ThreadShare {
	o.mu.Lock()
	defer o.mu.Unlock()
	since := o.lookedAt
	o.lookedAt = at
	var windows []attaching.ThreadShare
	for _, account := range accounts {
		tid := int32(account.Header.TID)
		thread := o.running[tid]
		if thread == nil || thread.account.CostNs > account.CostNs {
			thread = &threadCost{pid: int32(account.Header.PID), tid: tid, lookedAt: since} // another one may have had the id
			o.running[tid] = thread
		}
		if thread.lookedAt != 0 && at > thread.lookedAt && account.CostNs > thread.account.CostNs {
			window := thread.window(account, float64(at-thread.lookedAt))
			thread.peak = max(thread.peak, window.Share)
			windows = append(windows, window)
		}
		thread.account, thread.lookedAt = account, at
	}
	maps.DeleteFunc(o.running, func(_ int32, t *threadCost) bool { return at-t.lookedAt > forgottenAfter.Nanoseconds() })
	slices.SortFunc(windows, func(a, b attaching.ThreadShare) int { return cmp.Compare(b.Share, a.Share) })
	o.worst = 0
	if len(windows) > 0 {
		o.worst = windows[0].Share
	}
	return windows
}

// highest returns the highest share of a thread in the last window.
func (o *overhead) highest() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.worst
}

// window is what the thread was charged during a time in nanoseconds, up to an account.
func (t *threadCost) window(account abi.ThreadRecord, passed float64) attaching.ThreadShare {
	w := attaching.ThreadShare{PID: t.pid, TID: t.tid, Share: float64(account.CostNs-t.account.CostNs) / passed}
	for i := range w.Units {
		w.Units[i] = float64(account.Units[i].CostNs-t.account.Units[i].CostNs) / passed
	}
	return w
}

// end takes the last account of a thread.
func (o *overhead) end(account abi.ThreadRecord) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tid := int32(account.Header.TID)
	thread := o.running[tid]
	if thread == nil || thread.account.CostNs > account.CostNs {
		thread = &threadCost{pid: int32(account.Header.PID), tid: tid}
	}
	delete(o.running, tid)
	thread.account = account
	for i, unit := range account.Units {
		o.units[i].Hits += unit.Hits
		o.units[i].CostNs += unit.CostNs
	}
	o.ended = append(o.ended, thread)
	if len(o.ended) >= 2*maxThreads {
		sortByCost(o.ended)
		o.shorter += len(o.ended) - maxThreads
		o.ended = o.ended[:maxThreads]
	}
}

func sortByCost(threads []*threadCost) {
	slices.SortStableFunc(threads, func(a, b *threadCost) int { return cmp.Compare(b.account.CostNs, a.account.CostNs) })
}

// report sums up what all threads that have ended were charged, in a recording of the given duration.
func (o *overhead) report(costs *probes.Costs, duration time.Duration) *trace.Overhead {
	o.mu.Lock()
	defer o.mu.Unlock()
	result := &trace.Overhead{
		InstructionCosts: map[string]int64{}, ProgramCost: costs.Program.Nanoseconds(), Measured: costs.Measured, Duration: duration.Nanoseconds(),
		Events: []trace.EventOverhead{}, Threads: []trace.ThreadOverhead{}, ThreadCount: len(o.ended) + o.shorter,
	}
	for kind, cost := range costs.Instructions {
		result.InstructionCosts[kind] = cost.Nanoseconds()
	}
	for i, unit := range o.units {
		if unit.Hits > 0 {
			result.Hits += unit.Hits
			result.Cost += int64(unit.CostNs)
			result.Events = append(result.Events, trace.EventOverhead{Event: abi.Unit(i).String(), Hits: unit.Hits, Cost: int64(unit.CostNs)})
		}
	}
	slices.SortStableFunc(result.Events, func(a, b trace.EventOverhead) int { return cmp.Compare(b.Cost, a.Cost) })
	sortByCost(o.ended)
	for _, thread := range o.ended[:min(len(o.ended), maxThreads)] {
		result.Threads = append(result.Threads, thread.row(duration))
	}
	return result
}

func (t *threadCost) row(duration time.Duration) trace.ThreadOverhead {
	row := trace.ThreadOverhead{PID: int(t.pid), TID: int(t.tid), Cost: int64(t.account.CostNs), PeakShare: t.peak}
	for _, unit := range t.account.Units {
		row.Hits += unit.Hits
	}
	if duration > 0 {
		row.Share = float64(row.Cost) / float64(duration.Nanoseconds())
	}
	return row
}

// isDue reports whether the accounts are worth a look, at an instant of CLOCK_MONOTONIC: not if nothing was recorded
// since the last call, nor before that. Hits without a record are seen a few seconds later then. records is how many
// there were so far.
func (o *overhead) isDue(records uint64, at int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	wasQuiet := o.quiet
	o.quiet, o.records = o.records == records, records
	return !o.quiet || !wasQuiet || at-o.lookedAt >= quietInterval.Nanoseconds()
}

// takeAccounts takes the accounts of all threads, and returns what they were charged since the last time.
func (s *Session) takeAccounts() []attaching.ThreadShare {
	s.accounts = s.accounts[:0]
	err := s.loader.Accounts(func(account abi.ThreadRecord) { s.accounts = append(s.accounts, account) })
	s.journal.warn(err)
	return s.overhead.look(s.accounts, readClock(unix.CLOCK_MONOTONIC))
}

// noteOverhead puts into session.json what the recording, which was closed at an instant of CLOCK_MONOTONIC, has cost.
func (s *Session) noteOverhead(closed int64) {
	costs := cmp.Or(s.options.Costs, probes.DefaultCosts())
	s.journal.noteOverhead(s.overhead.report(costs, time.Duration(closed-s.blind.from)))
}
