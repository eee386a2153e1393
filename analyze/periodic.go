package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

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
	var ordered []source
	instances := series[PeriodInstance]{each: each}
	err = q.eachOccurrence(ctx, subject, sim, func(o *occurrence) {
		of := o.source
		p := periods[of]
		if p == nil {
			p = newPeriodic(of, origins)
			periods[of] = p
			ordered = append(ordered, of)
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
	for _, of := range ordered {
		results = append(results, periods[of].results(of.label())...)
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
