package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// DelayBegin is what the delay of a callback begins with.
type DelayBegin string

const (
	// DelayDue: the timer was due, as in MeasureLateness.
	DelayDue DelayBegin = "due"
	// DelayPublish: the message was published.
	DelayPublish DelayBegin = "publish"
)

// DelayParts are what the thread of a callback did in the time before it, in nanoseconds: they add up to it. It ran
// other callbacks, it ran outside of callbacks, it could have run, it waited, and it was awake and did not run yet.
type DelayParts struct {
	OtherCallbacks int64 `report:"other_callbacks,duration"`
	Executor       int64 `report:"executor,duration"`
	PreemptedTime  int64 `report:"preempted_time,duration"`
	BlockedTime    int64 `report:"blocked_time,duration"`
	WakeupLatency  int64 `report:"wakeup_latency,duration"`
}

func (p *DelayParts) add(other *DelayParts) {
	p.OtherCallbacks += other.OtherCallbacks
	p.Executor += other.Executor
	p.PreemptedTime += other.PreemptedTime
	p.BlockedTime += other.BlockedTime
	p.WakeupLatency += other.WakeupLatency
}

// CallbackDelay is where the time before a callback's executions went.
type CallbackDelay struct {
	CallbackLabel
	// Since says what the delay begins with.
	Since DelayBegin `report:"since"`
	// Count is the number of executions of which it is known. All but Unknown is of these, and null if there are none.
	Count uint64 `report:"count,drop=6"`
	// Mean is their mean delay, OtherCallbacks to WakeupLatency are the means of its parts.
	Mean           trace.Optional[int64] `report:"mean,duration,drop=8"`
	OtherCallbacks trace.Optional[int64] `report:"other_callbacks,duration"`
	Executor       trace.Optional[int64] `report:"executor,duration"`
	PreemptedTime  trace.Optional[int64] `report:"preempted_time,duration"`
	BlockedTime    trace.Optional[int64] `report:"blocked_time,duration"`
	WakeupLatency  trace.Optional[int64] `report:"wakeup_latency,duration,drop=7"`
	// Longest is the longest delay. LongestBehind is the callback that ran longest in it, null if none did, for
	// LongestBehindTime.
	Longest           trace.Optional[int64] `report:"longest,duration"`
	LongestBehind     string                `report:"longest_behind"`
	LongestBehindTime trace.Optional[int64] `report:"longest_behind_time,duration,drop=3"`
	// Unknown is the number of the other executions.
	Unknown uint64 `report:"unknown,drop=5"`
}

// DelayedExecution is one execution with the parts of the time before it.
type DelayedExecution struct {
	CallbackLabel
	TID   int32 `report:"tid,identifier,drop=5"`
	Begin int64 `report:"callback_start_timestamp,time"`
	// Latency is the delay.
	Latency int64      `report:"latency,duration"`
	Since   DelayBegin `report:"since"`
	DelayParts
	// Behind is the callback that ran longest meanwhile, for BehindTime.
	Behind     string                `report:"behind"`
	BehindTime trace.Optional[int64] `report:"behind_time,duration,drop=3"`
}

// CallbackDelays answers where the time went before executions of timers and of subscriptions. each, if not nil, gets
// every one of which it is known, in the order of their starts. Of callbacks within callbacks it is not known, nor
// where something is missing of what the thread did since. The error wraps ErrNoTimesOffCPU if no time off the CPU is
// recorded within a callback.
func (q *Query) CallbackDelays(ctx context.Context, each func([]DelayedExecution) error) ([]CallbackDelay, error) {
	due, err := q.timersDue(ctx)
	if err != nil {
		return nil, err
	}
	// What others ran on the threads counts, whichever callbacks are asked for.
	asked := q.filter
	q.filter.Nodes, q.filter.Topics, q.filter.Callbacks = nil, nil, nil
	defer func() { q.filter = asked }()
	d := &delays{
		asked: asked, due: due, pasts: make(map[threadOf]*threadPast), sums: make(map[*system.Callback]*delaySums),
		instances: newSeries(each, func(e *DelayedExecution) int64 { return e.Begin }),
	}
	if err := q.Losses(ctx, d.addLosses); err != nil {
		return nil, err
	}
	d.lost = joined(d.lost)
	d.off = newOffCPUReader(ctx, q)
	defer d.off.close()
	if err = q.Timeline(ctx, d.add); err == nil {
		err = cmp.Or(d.off.err, d.instances.end(q))
	}
	if err == nil && !d.off.hasWithin() {
		err = cmp.Or(d.off.err, ErrNoTimesOffCPU)
	}
	if err != nil {
		return nil, err
	}
	return d.results(), nil
}

// timersDue tells when timers were due, by their callbacks.
func (q *Query) timersDue(ctx context.Context) (map[*system.Callback]*periodic, error) {
	origins, err := q.timerOrigins(ctx)
	if err != nil {
		return nil, err
	}
	due := make(map[*system.Callback]*periodic)
	err = q.eachOccurrence(ctx, Callbacks, nil, func(o *occurrence) {
		p := due[o.callback]
		if p == nil {
			p = newPeriodic(o.source, origins)
			due[o.callback] = p
		}
		p.occur(o.at)
	}, func() error { return nil })
	return due, err
}

type threadOf struct {
	process trace.ProcessKey
	tid     int32
}

// delays gathers what CallbackDelays answers.
type delays struct {
	asked     Filter
	due       map[*system.Callback]*periodic
	published []int64 // by the publication's number, less 1
	off       *offCPUReader
	lost      []lostSpan // of times off the CPU, one after the other
	pasts     map[threadOf]*threadPast
	sums      map[*system.Callback]*delaySums
	instances series[DelayedExecution]
}

type delaySums struct {
	since          DelayBegin
	count, unknown uint64
	latency        int64
	parts          DelayParts
	longest        int64
	behind         ranBehind
}

// addLosses keeps losses of which nothing else tells: what was missed leaves parts of callbacks unknown.
func (d *delays) addLosses(rows []trace.Loss) error {
	for _, row := range rows {
		if row.Kind == trace.LostSched && row.Reason != trace.LossMissed {
			d.lost = append(d.lost, lostSpan{row.FromTimestamp, row.ToTimestamp})
		}
	}
	return nil
}

func (d *delays) past(of threadOf) *threadPast {
	past := d.pasts[of]
	if past == nil {
		past = new(threadPast)
		d.pasts[of] = past
	}
	return past
}

func (d *delays) add(w *TimelineWindow) error {
	for _, p := range w.Publications {
		d.published = append(d.published, p.At)
	}
	if len(w.Executions) == 0 {
		return nil
	}
	last := w.Executions[len(w.Executions)-1].At()
	d.off.readUntil(last, func(of threadOf, o offCPU) {
		past := d.past(of)
		past.off = append(past.off, o)
	})
	for _, e := range w.Executions {
		past := d.past(threadOf{e.Callback.Node.Process, e.TID})
		d.execution(e, past)
		past.add(e)
	}
	for _, past := range d.pasts {
		past.prune(last - keptPast)
	}
	return cmp.Or(d.off.err, d.instances.flush())
}

func (d *delays) execution(e *Execution, past *threadPast) {
	since, begin := d.begin(e)
	if since == "" || !e.Start.Valid || !d.asked.callback(e.Callback) {
		return
	}
	s := d.sums[e.Callback]
	if s == nil {
		s = &delaySums{since: since}
		d.sums[e.Callback] = s
	}
	parts, behind, known := DelayParts{}, ranBehind{}, false
	if begin.Valid && e.Depth == 0 && e.Parts.Valid && !d.isLost(begin.Value, e.Start.Value) {
		parts, behind, known = past.between(begin.Value, e.Start.Value)
	}
	if !known {
		s.unknown++
		return
	}
	latency := e.Start.Value - begin.Value
	s.count++
	s.latency += latency
	s.parts.add(&parts)
	if s.count == 1 || latency > s.longest {
		s.longest, s.behind = latency, behind
	}
	if d.instances.wanted() {
		name, time := behind.report()
		d.instances.add(DelayedExecution{
			CallbackLabel: labelOf(e.Callback), TID: e.TID, Begin: e.Start.Value, Latency: latency, Since: since, DelayParts: parts, Behind: name, BehindTime: time,
		})
	}
}

// begin says when the delay of an execution began; since is "" if such callbacks have none.
func (d *delays) begin(e *Execution) (since DelayBegin, at trace.Optional[int64]) {
	switch e.Callback.Kind {
	case trace.KindTimer:
		if p := d.due[e.Callback]; p != nil && p.grid > 0 && !p.isUncertain() && e.Start.Valid {
			at = trace.Some(p.due(e.Start.Value))
		}
		return DelayDue, at
	case trace.KindSubscription, trace.KindIntraProcessSubscription:
		if number := e.Flow.Publication(); number > 0 && number <= uint64(len(d.published)) {
			at = trace.Some(d.published[number-1])
		}
		return DelayPublish, at
	}
	return "", at
}

// isLost reports whether records of times off the CPU may be missing of a time.
func (d *delays) isLost(from, until int64) bool {
	first, _ := slices.BinarySearchFunc(d.lost, from, func(l lostSpan, from int64) int { return cmp.Compare(l.to, from) })
	return first < len(d.lost) && d.lost[first].from <= until
}

// lostSpan is a time in which records may have been lost, its ends included.
type lostSpan struct{ from, to int64 }

// joined are spans in the order of time, those that overlap as one.
func joined(spans []lostSpan) (all []lostSpan) {
	slices.SortFunc(spans, func(a, b lostSpan) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		if last := len(all) - 1; last >= 0 && s.from <= all[last].to {
			all[last].to = max(all[last].to, s.to)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// report names the callback, with its node.
func (b ranBehind) report() (name string, time trace.Optional[int64]) {
	if b.callback == nil {
		return "", time
	}
	return cmp.Or(b.callback.Name, b.callback.Node.Name), trace.Some(b.time)
}

func (d *delays) results() (results []CallbackDelay) {
	for c, s := range d.sums {
		r := CallbackDelay{CallbackLabel: labelOf(c), Since: s.since, Count: s.count, Unknown: s.unknown}
		if s.count > 0 {
			mean := func(sum int64) trace.Optional[int64] { return trace.Some(meanOf(sum, int64(s.count))) }
			r.Mean, r.OtherCallbacks, r.Executor = mean(s.latency), mean(s.parts.OtherCallbacks), mean(s.parts.Executor)
			r.PreemptedTime, r.BlockedTime, r.WakeupLatency = mean(s.parts.PreemptedTime), mean(s.parts.BlockedTime), mean(s.parts.WakeupLatency)
			r.Longest = trace.Some(s.longest)
			r.LongestBehind, r.LongestBehindTime = s.behind.report()
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b CallbackDelay) int { return compareLabels(a.CallbackLabel, b.CallbackLabel) })
	return results
}
