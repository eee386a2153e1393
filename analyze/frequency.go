package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Frequency is how often something occurred. The intervals of each subject are counted from its first occurrence to its
// last, or on a common base: from the first occurrence of any subject to the last of any. The last one, which is not
// whole, does not count for the least, the mean and the greatest unless it is the only one.
type Frequency struct {
	PeriodicLabel
	Count     uint64  `report:"count"`
	Intervals uint64  `report:"intervals,drop=4"`
	Min       float64 `report:"min"`
	Mean      float64 `report:"mean"`
	Max       float64 `report:"max"`
}

// FrequencyInstance is one interval.
type FrequencyInstance struct {
	PeriodicLabel
	Begin int64   `report:"timestamp,time"`
	Count uint64  `report:"count"`
	Rate  float64 `report:"frequency"`
}

// Intervals are those in which occurrences are counted.
type Intervals struct {
	// Length of each, in nanoseconds.
	Length int64
	// Common has all begin with the first occurrence of any subject, and go on to the last of any.
	Common bool
}

// Frequencies answers how often a subject occurred. each, if not nil, gets every interval.
func (q *Query) Frequencies(ctx context.Context, subject Subject, simTime bool, intervals Intervals, each func([]FrequencyInstance) error) ([]Frequency, error) {
	sim, err := q.simClockIf(ctx, simTime)
	if err != nil {
		return nil, err
	}
	counters := make(map[source]*intervalCounter)
	var ordered []*intervalCounter
	instances := newSeries(interruptible(ctx, each), func(i *FrequencyInstance) int64 { return i.Begin })
	var first, last trace.Optional[int64] // of all
	err = q.eachOccurrence(ctx, subject, sim, func(o *occurrence) {
		of := o.source
		if !first.Valid {
			first, last = trace.Some(o.at), trace.Some(o.at)
		}
		last.Value = max(last.Value, o.at)
		c := counters[of]
		if c == nil {
			c = &intervalCounter{label: of.label(), interval: intervals.Length, base: o.at, instances: &instances}
			if intervals.Common {
				c.base = first.Value
			}
			counters[of] = c
			ordered = append(ordered, c)
		}
		c.add(o.at)
	}, instances.flush)
	if err != nil {
		return nil, err
	}
	var results []Frequency
	for _, c := range ordered {
		if intervals.Common {
			c.advance(last.Value)
		}
		results = append(results, c.result())
	}
	if err := instances.end(q); err != nil {
		return nil, err
	}
	slices.SortStableFunc(results, func(a, b Frequency) int { return comparePeriodicLabels(a.PeriodicLabel, b.PeriodicLabel) })
	return results, nil
}

// intervalCounter counts the occurrences of one callback or publisher.
type intervalCounter struct {
	label          PeriodicLabel
	interval, base int64
	instances      *series[FrequencyInstance]

	total     uint64
	now       int64 // number of the interval
	count     uint64
	intervals uint64 // before now
	least     trace.Optional[uint64]
	greatest  uint64
	whole     uint64 // occurrences in them
}

func (c *intervalCounter) add(at int64) {
	c.total++
	c.advance(at)
	c.count++
}

// advance goes on to the interval of a time. Simulated time may go back; what is earlier than the interval belongs
// to it all the same.
func (c *intervalCounter) advance(at int64) {
	to := (at - c.base) / c.interval
	if to <= c.now {
		return
	}
	c.close()
	for c.now < to && c.instances.wanted() {
		c.close()
	}
	if empty := to - c.now; empty > 0 { // there may be very many
		c.least = trace.Some[uint64](0)
		c.intervals += uint64(empty)
		c.now = to
	}
}

// close ends an interval that is whole.
func (c *intervalCounter) close() {
	c.show()
	if !c.least.Valid || c.count < c.least.Value {
		c.least = trace.Some(c.count)
	}
	c.greatest = max(c.greatest, c.count)
	c.whole += c.count
	c.intervals++
	c.now++
	c.count = 0
}

func (c *intervalCounter) show() {
	c.instances.add(FrequencyInstance{PeriodicLabel: c.label, Begin: c.base + c.now*c.interval, Count: c.count, Rate: c.rate(float64(c.count))})
}

func (c *intervalCounter) rate(count float64) float64 { return count * 1e9 / float64(c.interval) }

func (c *intervalCounter) result() Frequency {
	c.show()
	f := Frequency{PeriodicLabel: c.label, Count: c.total, Intervals: c.intervals + 1}
	if c.intervals == 0 {
		f.Min = c.rate(float64(c.count))
		f.Mean, f.Max = f.Min, f.Min
		return f
	}
	f.Min, f.Max = c.rate(float64(c.least.Value)), c.rate(float64(c.greatest))
	f.Mean = c.rate(float64(c.whole) / float64(c.intervals))
	return f
}
