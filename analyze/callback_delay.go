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
	OtherCallbacks int64 `report:"other_callbacks,duration,short=OTHERS"`
	Executor       int64 `report:"executor,duration,short=EXEC"`
	PreemptedTime  int64 `report:"preempted_time,duration,short=PREEMPT"`
	BlockedTime    int64 `report:"blocked_time,duration,short=BLOCKED"`
	WakeupLatency  int64 `report:"wakeup_latency,duration,short=WAKEUP"`
}

// DelayMeans are the means of DelayParts.
type DelayMeans struct {
	OtherCallbacks trace.Optional[int64] `report:"other_callbacks,duration,short=OTHERS"`
	Executor       trace.Optional[int64] `report:"executor,duration,short=EXEC"`
	PreemptedTime  trace.Optional[int64] `report:"preempted_time,duration,short=PREEMPT"`
	BlockedTime    trace.Optional[int64] `report:"blocked_time,duration,short=BLOCKED"`
	WakeupLatency  trace.Optional[int64] `report:"wakeup_latency,duration,short=WAKEUP"`
}

// LongestDelay is the longest of several. LongestBehind is the callback that ran longest in it, null if none did, for
// LongestBehindTime.
type LongestDelay struct {
	Longest           trace.Optional[int64] `report:"longest,duration,short=LONGEST,drop=8"`
	LongestBehind     string                `report:"longest_behind,below=longest behind,drop=1"`
	LongestBehindTime trace.Optional[int64] `report:"longest_behind_time,duration,below=for,drop=1"`
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
	Since DelayBegin `report:"since,drop=4"`
	// Count is the number of executions of which it is known. All but Unknown is of these, and null if there are none.
	Count uint64 `report:"count,drop=6"`
	// Mean is their mean delay; then come the means of its parts.
	Mean trace.Optional[int64] `report:"mean,duration,short=MEAN"`
	DelayMeans
	Preempter
	LongestDelay
	// Unknown is the number of the other executions.
	Unknown uint64 `report:"unknown,drop=5"`
}

// DelayedExecution is one execution with the parts of the time before it.
type DelayedExecution struct {
	CallbackLabel
	TID   int32 `report:"tid,identifier,drop=5"`
	Begin int64 `report:"callback_start_timestamp,time"`
	// Latency is the delay.
	Latency int64      `report:"latency,duration,short=LATENCY"`
	Since   DelayBegin `report:"since,drop=4"`
	DelayParts
	Preempter
	// Behind is the callback that ran longest meanwhile, for BehindTime.
	Behind     string                `report:"behind,below=behind,drop=1"`
	BehindTime trace.Optional[int64] `report:"behind_time,duration,below=for,drop=1"`
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
	d := &delays{
		asked: q.filter, due: due, sums: make(map[*system.Callback]*delaySums),
		instances: newSeries(each, func(e *DelayedExecution) int64 { return e.Begin }),
	}
	err = q.eachPast(ctx, func(pasts *threadPasts, w *TimelineWindow) error {
		pasts.each(w, func(e *Execution, past *threadPast) { d.execution(e, pasts, past) })
		return d.instances.flush()
	})
	if err == nil {
		err = d.instances.end(q)
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

// delays gathers what CallbackDelays answers.
type delays struct {
	asked     Filter
	due       map[*system.Callback]*periodic
	sums      map[*system.Callback]*delaySums
	instances series[DelayedExecution]
}

type delaySums struct {
	since DelayBegin
	partSum
}

func (d *delays) execution(e *Execution, pasts *threadPasts, past *threadPast) {
	since, begin := d.begin(e, pasts)
	if since == "" || !e.Start.Valid || !d.asked.callback(e.Callback) {
		return
	}
	s := d.sums[e.Callback]
	if s == nil {
		s = &delaySums{since: since}
		d.sums[e.Callback] = s
	}
	before, known := spentTime{}, false
	if begin.Valid && e.Depth == 0 && e.Parts.Valid && !pasts.isLost(begin.Value, e.Start.Value) {
		before, known = past.between(begin.Value, e.Start.Value)
	}
	if !known {
		s.unknown++
		return
	}
	latency := e.Start.Value - begin.Value
	s.add(latency, &before)
	if d.instances.wanted() {
		name, time := before.behind.report()
		d.instances.add(DelayedExecution{
			CallbackLabel: LabelOf(e.Callback), TID: e.TID, Begin: e.Start.Value, Latency: latency, Since: since, DelayParts: before.parts.DelayParts,
			Preempter: before.by.preempter(), Behind: name, BehindTime: time,
		})
	}
}

// begin says when the delay of an execution began; since is "" if such callbacks have none.
func (d *delays) begin(e *Execution, pasts *threadPasts) (since DelayBegin, at trace.Optional[int64]) {
	switch e.Callback.Kind {
	case trace.KindTimer:
		if p := d.due[e.Callback]; p != nil && p.grid.Period > 0 && !p.isUncertain() && e.Start.Valid {
			at = trace.Some(p.due(e.Start.Value))
		}
		return DelayDue, at
	case trace.KindSubscription, trace.KindIntraProcessSubscription:
		return DelayPublish, pasts.publishOf(e)
	}
	return "", at
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
		r := CallbackDelay{CallbackLabel: LabelOf(c), Since: s.since, Count: s.count, Unknown: s.unknown}
		if s.count > 0 {
			r.Mean, r.DelayMeans, r.Preempter, r.LongestDelay = s.mean(s.latency), s.delayMeans(), s.by.preempter(s.count), s.longestDelay()
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b CallbackDelay) int { return compareLabels(a.CallbackLabel, b.CallbackLabel) })
	return results
}
