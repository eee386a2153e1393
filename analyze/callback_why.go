package analyze

import (
	"context"
	"errors"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrNoScheduling is returned where it is not known of any execution where its time went.
var ErrNoScheduling = errors.New("of no execution it is known where its time went: that is recorded by record --sched")

// Parts are the parts of a duration, in nanoseconds, which add up to it: the thread ran; it could have run, and did
// not; it waited for something; it was awake again, and did not run yet.
type Parts struct {
	CPUTime       int64 `report:"cpu_time,duration,short=ON CPU"`
	PreemptedTime int64 `report:"preempted_time,duration,short=PREEMPT"`
	BlockedTime   int64 `report:"blocked_time,duration,short=BLOCKED"`
	WakeupLatency int64 `report:"wakeup_latency,duration,short=WAKEUP"`
}

// CallbackParts is where the time of a callback's executions went.
type CallbackParts struct {
	CallbackLabel
	// Count is the number of executions whose parts are known. All but Unknown is of these, and null if there are none.
	Count uint64 `report:"count,drop=6"`
	// Mean is their mean duration. CPUTime to WakeupLatency are the means of its parts.
	Mean          trace.Optional[int64] `report:"mean,duration,short=MEAN"`
	CPUTime       trace.Optional[int64] `report:"cpu_time,duration,short=ON CPU"`
	PreemptedTime trace.Optional[int64] `report:"preempted_time,duration,short=PREEMPT"`
	BlockedTime   trace.Optional[int64] `report:"blocked_time,duration,short=BLOCKED"`
	WakeupLatency trace.Optional[int64] `report:"wakeup_latency,duration,short=WAKEUP"`
	// Preempter is known with record --sched=full.
	Preempter
	// Preemptions counts how often the thread lost its CPU while it could run, Migrations how often it came back on
	// another one, in all of them together.
	Preemptions trace.Optional[int64] `report:"preemptions,drop=4"`
	Migrations  trace.Optional[int64] `report:"migrations,drop=3"`
	// Longest is the longest duration, the others are its parts.
	Longest              trace.Optional[int64] `report:"longest,duration,short=LONGEST,drop=7"`
	LongestCPUTime       trace.Optional[int64] `report:"longest_cpu_time,duration,drop=2"`
	LongestPreemptedTime trace.Optional[int64] `report:"longest_preempted_time,duration,drop=2"`
	LongestBlockedTime   trace.Optional[int64] `report:"longest_blocked_time,duration,drop=2"`
	LongestWakeupLatency trace.Optional[int64] `report:"longest_wakeup_latency,duration,drop=2"`
	// Unknown is the number of executions whose parts are not known: those that are not complete, too.
	Unknown uint64 `report:"unknown,drop=5"`
}

// PartedExecution is one complete execution of a callback with the parts of its duration.
type PartedExecution struct {
	CallbackLabel
	TID     int32 `report:"tid,identifier,drop=5"`
	Begin   int64 `report:"callback_start_timestamp,time"`
	Latency int64 `report:"latency,duration"`
	Parts
	Preempter
	Preemptions int32 `report:"preemptions,drop=5"`
	Migrations  int32 `report:"migrations,drop=4"`
}

// partColumns are the columns of callback that tell where the time of executions went.
type partColumns struct {
	CPUTime       trace.Optional[int64] `column:"cpu_time"`
	PreemptedTime trace.Optional[int64] `column:"preempted_time"`
	BlockedTime   trace.Optional[int64] `column:"blocked_time"`
	WakeupLatency trace.Optional[int64] `column:"wakeup_latency"`
}

// parts are known together or not at all.
func (c *partColumns) parts() trace.Optional[Parts] {
	if !c.CPUTime.Valid {
		return trace.Optional[Parts]{}
	}
	return trace.Some(Parts{c.CPUTime.Value, c.PreemptedTime.Value, c.BlockedTime.Value, c.WakeupLatency.Value})
}

// partedColumns tell of an execution how long it took, and where its time went.
type partedColumns struct {
	executionColumns
	partColumns
	Preemptions trace.Optional[int32] `column:"preemptions"`
	Migrations  trace.Optional[int32] `column:"migrations"`
}

// CallbackParts answers where the time of callbacks went. each, if not nil, gets every execution of which it is known,
// in the order of their begin. Who preempted them is known of datasets with times off the CPU; each of these in which a
// thread was preempted takes 24 bytes of memory. The error wraps ErrNoScheduling if of no execution it is known.
func (q *Query) CallbackParts(ctx context.Context, each func([]PartedExecution) error) ([]CallbackParts, error) {
	preempted, err := q.preemptedTimes(ctx)
	if err != nil {
		return nil, err
	}
	states, run := make([]*partedExecutions, scan.MaxWorkers()), scan.InParallel
	for i := range states {
		states[i] = newPartedExecutions(q, preempted, each)
	}
	if each != nil {
		run = inOrder
	}
	err = scanCallbackRows(ctx, q, run, func(worker int, rows []partedColumns, clock *clockCorrection) {
		states[worker].add(rows, clock)
	}, func(worker int) error { return states[worker].instances.flush() })
	if err != nil {
		return nil, err
	}
	for _, p := range states {
		if err := p.instances.end(q); err != nil {
			return nil, err
		}
	}
	results := mergeParts(states)
	if len(results) > 0 && !slices.ContainsFunc(results, func(r CallbackParts) bool { return r.Count > 0 }) {
		return nil, ErrNoScheduling
	}
	if slices.ContainsFunc(states, func(p *partedExecutions) bool { return p.byUnknown }) {
		q.Warnings = append(q.Warnings, "callbacks were preempted, and it is not known by whom: that is recorded by record --sched=full")
	}
	return results, nil
}

// partSums are what CallbackParts is made of.
type partSums struct {
	selected                         bool
	count, unknown                   uint64
	latency, preemptions, migrations int64
	sums                             Parts
	by                               preempters
	longest                          int64
	longestParts                     Parts
}

// partedExecutions gathers where the time of executions went that one goroutine reads.
type partedExecutions struct {
	query     *Query
	preempted preemptedTimes
	callbacks *system.Lookup[*system.Callback]
	sums      map[*system.Callback]*partSums
	instances series[PartedExecution]
	// byUnknown says that something was preempted in a dataset that does not tell by whom.
	byUnknown bool
}

func newPartedExecutions(q *Query, preempted preemptedTimes, each func([]PartedExecution) error) *partedExecutions {
	return &partedExecutions{
		query: q, preempted: preempted, callbacks: system.NewLookup(q.Architecture.Index().Callbacks), sums: make(map[*system.Callback]*partSums),
		instances: newSeries(each, func(e *PartedExecution) int64 { return e.Begin }),
	}
}

func (p *partedExecutions) add(rows []partedColumns, clock *clockCorrection) {
	for i := range rows {
		row := &rows[i]
		c, begin := p.query.executed(p.callbacks, &row.executionColumns, clock)
		if c == nil {
			continue
		}
		s := p.sums[c]
		if s == nil {
			s = &partSums{selected: p.query.filter.callback(c)}
			p.sums[c] = s
		}
		if !s.selected {
			continue
		}
		parts := row.parts()
		if !parts.Valid || !row.Start.Valid || !row.End.Valid {
			s.unknown++
			continue
		}
		e := PartedExecution{
			TID: row.TID, Begin: begin, Latency: row.End.Value - row.Start.Value, Parts: parts.Value,
			Preemptions: row.Preemptions.Value, Migrations: row.Migrations.Value,
		}
		s.add(&e)
		by := p.preemptionsOf(row, clock)
		s.by.add(by)
		if p.instances.wanted() {
			e.CallbackLabel, e.Preempter = LabelOf(c), by.preempter()
			p.instances.add(e)
		}
	}
}

// preemptionsOf are those of an execution whose parts are known, also within callbacks that are nested in it.
func (p *partedExecutions) preemptionsOf(row *partedColumns, clock *clockCorrection) preemptions {
	if row.PreemptedTime.Value == 0 {
		return nil
	}
	if p.preempted[clock] == nil {
		p.byUnknown = true
		return nil
	}
	return p.preempted.within(clock, threadOf{row.ProcessKey, row.TID}, row.Start.Value, row.End.Value)
}

func (s *partSums) add(e *PartedExecution) {
	s.merge(&partSums{
		count: 1, latency: e.Latency, preemptions: int64(e.Preemptions), migrations: int64(e.Migrations), sums: e.Parts,
		longest: e.Latency, longestParts: e.Parts,
	})
}

func (s *partSums) merge(other *partSums) {
	if other.count > 0 && (s.count == 0 || other.longest > s.longest) {
		s.longest, s.longestParts = other.longest, other.longestParts
	}
	s.count += other.count
	s.unknown += other.unknown
	s.latency += other.latency
	s.preemptions += other.preemptions
	s.migrations += other.migrations
	s.sums.CPUTime += other.sums.CPUTime
	s.sums.PreemptedTime += other.sums.PreemptedTime
	s.sums.BlockedTime += other.sums.BlockedTime
	s.sums.WakeupLatency += other.sums.WakeupLatency
	s.by.merge(other.by)
}

func (s *partSums) result(c *system.Callback) CallbackParts {
	r := CallbackParts{CallbackLabel: LabelOf(c), Count: s.count, Unknown: s.unknown}
	if s.count == 0 {
		return r
	}
	mean := func(sum int64) trace.Optional[int64] { return trace.Some(meanOf(sum, int64(s.count))) }
	r.Mean, r.CPUTime, r.PreemptedTime = mean(s.latency), mean(s.sums.CPUTime), mean(s.sums.PreemptedTime)
	r.BlockedTime, r.WakeupLatency = mean(s.sums.BlockedTime), mean(s.sums.WakeupLatency)
	r.Preempter = s.by.preempter(s.count)
	r.Preemptions, r.Migrations = trace.Some(s.preemptions), trace.Some(s.migrations)
	r.Longest = trace.Some(s.longest)
	r.LongestCPUTime, r.LongestPreemptedTime = trace.Some(s.longestParts.CPUTime), trace.Some(s.longestParts.PreemptedTime)
	r.LongestBlockedTime, r.LongestWakeupLatency = trace.Some(s.longestParts.BlockedTime), trace.Some(s.longestParts.WakeupLatency)
	return r
}

// mergeParts makes one result of what the goroutines gathered, in the order of nodes and callbacks.
func mergeParts(states []*partedExecutions) []CallbackParts {
	merged := make(map[*system.Callback]*partSums)
	for _, state := range states {
		for c, s := range state.sums {
			if merged[c] == nil {
				merged[c] = &partSums{}
			}
			merged[c].merge(s)
		}
	}
	var results []CallbackParts
	for c, s := range merged {
		if s.count > 0 || s.unknown > 0 {
			results = append(results, s.result(c))
		}
	}
	slices.SortFunc(results, func(a, b CallbackParts) int { return compareLabels(a.CallbackLabel, b.CallbackLabel) })
	return results
}
