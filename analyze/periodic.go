package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Subject is what repeats.
type Subject string

// The subjects.
const (
	// Callbacks: the starts of each callback.
	Callbacks Subject = "callback"
	// Topics: the publishes of each publisher.
	Topics Subject = "topic"
)

// PeriodicLabel names a callback or a publisher in results. A publisher has no callback and no kind.
type PeriodicLabel struct {
	Node     string             `report:"node_name"`
	PID      int32              `report:"pid,identifier,detail"`
	Callback string             `report:"callback_name"`
	Kind     trace.CallbackKind `report:"kind"`
	Topic    string             `report:"topic_name"`
	// TimerPeriod is the period that a timer was given.
	TimerPeriod trace.Optional[int64] `report:"timer_period,duration"`
}

// occurrence is one start of a callback or one publish.
type occurrence struct {
	callback  *system.Callback
	publisher *system.Publisher
	at        int64
}

// source is what an occurrence is of.
type source struct {
	callback  *system.Callback
	publisher *system.Publisher
}

func (s source) label() PeriodicLabel {
	if c := s.callback; c != nil {
		return PeriodicLabel{Node: c.Node.Name, PID: c.Node.Process.PID, Callback: c.Name, Kind: c.Kind, Topic: cmp.Or(c.TopicName, c.ServiceName), TimerPeriod: c.Period}
	}
	return PeriodicLabel{Node: s.publisher.Node.Name, PID: s.publisher.Node.Process.PID, Topic: s.publisher.TopicName}
}

func comparePeriodicLabels(a, b PeriodicLabel) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID), len(a.Callback)-len(b.Callback), cmp.Compare(a.Callback, b.Callback), cmp.Compare(a.Topic, b.Topic))
}

// startColumns are the columns of callback that tell when callbacks started.
type startColumns struct {
	trace.ProcessKey
	Callback trace.Address         `column:"callback"`
	Start    trace.Optional[int64] `column:"callback_start_timestamp"`
}

// eachOccurrence passes on when the subject occurred, in the order of time, in simulated time if sim is not nil.
func (q *Query) eachOccurrence(ctx context.Context, subject Subject, sim *simClock, each func(o *occurrence), after func() error) error {
	wanted := &wantedMessages{publisher: remember(func(p *system.Publisher) bool {
		return matches(q.filter.Topics, p.TopicName) && q.filter.node(p.Node)
	})}
	selected := remember(q.filter.callback)
	at := func(o *occurrence) int64 { return o.at }
	var damaged scan.Damages
	source := newEventSource(q, wanted, &damaged)
	source.prune = q.outside
	var occurrences stream[occurrence]
	var err error
	if subject == Topics {
		occurrences, err = newStream(ctx, source, trace.TablePublish, scan.PublishTimes, nil, func(r *messageReader, row *detailedDepartureColumns, dataset int) *occurrence {
			d := r.detailedDeparture(row, dataset)
			if d == nil {
				return nil
			}
			return &occurrence{publisher: d.publisher, at: d.at}
		}, at)
	} else {
		occurrences, err = newStream(ctx, source, trace.TableCallback, []string{"callback_start_timestamp"}, q.selectedCallbacks(), func(r *messageReader, row *startColumns, dataset int) *occurrence {
			if !row.Start.Valid {
				return nil
			}
			c := r.callback(&row.ProcessKey, row.Callback, row.Start.Value)
			if !selected(c) {
				return nil
			}
			return &occurrence{callback: c, at: q.clocks[dataset].correct(row.Start.Value)}
		}, at)
	}
	if err != nil {
		return err
	}
	source.progress = q.newProgress(occurrences.groups)
	err = readAhead(ctx, windowLimits(occurrences.groups), occurrences.reading, func(window []*occurrence) error {
		for _, o := range window {
			if !q.filter.covers(o.at) {
				continue
			}
			if sim != nil {
				o.at = sim.convert(o.at)
			}
			each(o)
		}
		return after()
	})
	if err != nil {
		return err
	}
	return q.warnOfDamage(damaged.Err())
}

// simClockIf returns the clock of simulated time if it is asked for.
func (q *Query) simClockIf(ctx context.Context, wanted bool) (*simClock, error) {
	if !wanted {
		return nil, nil
	}
	return newSimClock(ctx, q)
}

// Measure is what a row of periods is about.
type Measure string

const (
	// MeasurePeriod is the time from one occurrence to the next.
	MeasurePeriod Measure = "period"
	// MeasureLateness is how late a timer's callback started, after the point of its ideal grid. Where the timer's init
	// was not recorded, the grid is laid so that the most punctual start was in time.
	MeasureLateness Measure = "lateness"
)

// Period is how regularly something occurred.
type Period struct {
	PeriodicLabel
	Measure Measure `report:"measure"`
	Statistics
	// Missed is the number of points of a timer's grid, between its first and last, at which it did not start.
	Missed trace.Optional[uint64] `report:"missed"`
}

// PeriodInstance is one period.
type PeriodInstance struct {
	PeriodicLabel
	Begin  int64 `report:"timestamp,time"`
	Period int64 `report:"period,duration"`
}

// Periods answers how regularly callbacks started or topics were published. each, if not nil, gets every period.
func (q *Query) Periods(ctx context.Context, subject Subject, simTime bool, each func([]PeriodInstance) error) ([]Period, error) {
	sim, err := q.simClockIf(ctx, simTime)
	if err != nil {
		return nil, err
	}
	var origins timerOrigins
	if subject == Callbacks && sim == nil {
		if origins, err = q.timerOrigins(ctx); err != nil {
			return nil, err
		}
	}
	periods := make(map[source]*periodic)
	instances := series[PeriodInstance]{each: each}
	err = q.eachOccurrence(ctx, subject, sim, func(o *occurrence) {
		of := source{o.callback, o.publisher}
		p := periods[of]
		if p == nil {
			p = newPeriodic(of, origins)
			periods[of] = p
		}
		if p.seen > 0 {
			p.periods.add(p.last, o.at-p.last)
			if instances.wanted() {
				instances.add(PeriodInstance{PeriodicLabel: of.label(), Begin: p.last, Period: o.at - p.last})
			}
		}
		p.occur(o.at)
	}, instances.flush)
	if err != nil {
		return nil, err
	}
	var results []Period
	for of, p := range periods {
		results = append(results, p.results(of.label())...)
	}
	slices.SortStableFunc(results, func(a, b Period) int {
		return cmp.Or(comparePeriodicLabels(a.PeriodicLabel, b.PeriodicLabel), -cmp.Compare(a.Measure, b.Measure))
	})
	return results, nil
}

// periodic gathers the occurrences of one callback or publisher.
type periodic struct {
	periods distribution
	seen    uint64
	last    int64

	grid                int64 // the timer's period; 0 for others
	origin              trace.Optional[int64]
	begin               int64
	lateness            distribution
	firstPoint, atPoint int64
	points              uint64 // at which it started
}

// newPeriodic lays the grid of a timer.
func newPeriodic(of source, origins timerOrigins) *periodic {
	p := new(periodic)
	if c := of.callback; c != nil && c.Kind == trace.KindTimer && c.Period.Value > 0 {
		p.grid, p.origin = c.Period.Value, origins[initOf(c)]
	}
	return p
}

func (p *periodic) occur(at int64) {
	if p.seen == 0 {
		p.begin = at
		if p.origin.Valid {
			p.begin = p.origin.Value
		}
	}
	p.seen++
	p.last = at
	if p.grid == 0 {
		return
	}
	// rcl calls a timer at the points of its grid, never before, and leaves out those that it missed. Without the origin,
	// starts are compared with the first one and may be somewhat before it.
	since := at - p.begin
	if !p.origin.Valid {
		since += p.grid / 2
	}
	point := floorDivision(since, p.grid)
	p.lateness.add(at, at-p.begin-point*p.grid)
	if p.points == 0 {
		p.firstPoint, p.atPoint = point, point-1
	}
	if point > p.atPoint {
		p.atPoint = point
		p.points++
	}
}

func floorDivision(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (p *periodic) results(label PeriodicLabel) []Period {
	results := []Period{{PeriodicLabel: label, Measure: MeasurePeriod, Statistics: p.periods.statistics()}}
	if p.grid > 0 && p.seen > 0 {
		if !p.origin.Valid {
			p.lateness.shift(-p.lateness.min)
		}
		results = append(results, Period{
			PeriodicLabel: label, Measure: MeasureLateness, Statistics: p.lateness.statistics(),
			Missed: trace.Some(uint64(p.atPoint-p.firstPoint+1) - p.points),
		})
	}
	return results
}
