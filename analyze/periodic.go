package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/grid"
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
	// was not recorded, the grid is laid so that the most punctual start was in time. It has no values if the grid is
	// uncertain (grid.Grid).
	MeasureLateness Measure = "lateness"
)

// Period is how regularly something occurred.
type Period struct {
	PeriodicLabel
	Measure Measure `report:"measure"`
	Statistics
	// Missed is the number of points of a timer's grid, between its first and last, at which it did not start; null where
	// the grid is uncertain.
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
	instances := newSeries(each, func(i *PeriodInstance) int64 { return i.Begin })
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
	if err == nil {
		err = instances.end(q)
	}
	if err != nil {
		return nil, err
	}
	var results []Period
	var uncertain []PeriodicLabel
	for _, of := range ordered {
		results = append(results, periods[of].results(of.label())...)
		if periods[of].isUncertain() {
			uncertain = append(uncertain, of.label())
		}
	}
	if len(uncertain) > 0 {
		q.Warnings = append(q.Warnings, fmt.Sprintf("when %d timers were due is not certain, such as %s: their inits were not recorded, and starts differ by half a period and more, so it is not known how late they were",
			len(uncertain), uncertain[0].Callback))
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

	grid                grid.Grid // the timer's; without a period for others
	lateness            distribution
	firstPoint, atPoint int64
	points              uint64 // at which it started
}

// newPeriodic lays the grid of a timer.
func newPeriodic(of source, origins timerOrigins) *periodic {
	p := new(periodic)
	if c := of.callback; c != nil && c.Kind == trace.KindTimer && c.Period.Value > 0 {
		p.grid = grid.Grid{Period: c.Period.Value, Origin: origins[initOf(c)]}
	}
	return p
}

func (p *periodic) occur(at int64) {
	p.grid.Start(at)
	p.seen++
	p.last = at
	if p.grid.Period == 0 {
		return
	}
	point := p.grid.Point(at)
	p.lateness.add(at, p.grid.Lateness(at))
	if p.points == 0 {
		p.firstPoint, p.atPoint = point, point-1
	}
	if point > p.atPoint {
		p.atPoint = point
		p.points++
	}
}

// due is when the timer was due that started then, once all its starts are known. A start that a clock in steps has
// too early was in time.
func (p *periodic) due(at int64) int64 {
	due := p.grid.At(p.grid.Point(at))
	if !p.grid.Origin.Valid {
		due += p.lateness.min
	}
	return min(due, at)
}

// isUncertain tells whether it is not known when the timer was due.
func (p *periodic) isUncertain() bool {
	return p.seen > 0 && p.grid.IsUncertain(p.lateness.min, p.lateness.max)
}

func (p *periodic) results(label PeriodicLabel) []Period {
	results := []Period{{PeriodicLabel: label, Measure: MeasurePeriod, Statistics: p.periods.statistics()}}
	switch {
	case p.grid.Period == 0 || p.seen == 0:
	case p.isUncertain():
		starts := distribution{begins: p.lateness.begins, last: p.lateness.last, began: p.lateness.began}
		results = append(results, Period{PeriodicLabel: label, Measure: MeasureLateness, Statistics: starts.statistics()})
	default:
		if !p.grid.Origin.Valid {
			p.lateness.shift(-p.lateness.min)
		}
		results = append(results, Period{
			PeriodicLabel: label, Measure: MeasureLateness, Statistics: p.lateness.statistics(),
			Missed: trace.Some(uint64(p.atPoint-p.firstPoint+1) - p.points),
		})
	}
	return results
}
