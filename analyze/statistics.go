package analyze

import (
	"math/bits"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/rank"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Statistics describe durations, in nanoseconds. They are null where there is none. A percentile is the least value
// that at least that share of the values does not exceed (the nearest rank, DuckDB's quantile_disc).
type Statistics struct {
	// Count is the number of durations; Rate is that of the instances a second, from the first to the last begin.
	Count uint64                  `report:"count"`
	Rate  trace.Optional[float64] `report:"rate,drop=6"`
	Min   trace.Optional[int64]   `report:"min,duration,drop=3"`
	Mean  trace.Optional[int64]   `report:"mean,duration,drop=11"`
	P50   trace.Optional[int64]   `report:"p50,duration,drop=7"`
	P90   trace.Optional[int64]   `report:"p90,duration,drop=2"`
	P99   trace.Optional[int64]   `report:"p99,duration"`
	P999  trace.Optional[int64]   `report:"p99_9,duration,drop=1"`
	Max   trace.Optional[int64]   `report:"max,duration,drop=8"`
	// PercentilesExact is false beyond 4 million durations: the percentiles are up to 0.1 % too small then. The others
	// stay exact.
	PercentilesExact bool `report:"percentiles_exact,detail"`
}

const (
	// exactSamples is the number of durations that are kept for exact percentiles.
	exactSamples = 4 << 20
	// fineBits is the number of leading bits of a duration by which a histogram tells it from others: to 1/1024.
	fineBits = 10
)

// distribution gathers durations. The zero distribution is empty.
type distribution struct {
	samples   samples
	histogram map[int64]uint64 // counts by coarse value, once there are too many samples
	count     uint64
	sum       int64
	min, max  int64

	begins, last int64 // the first and the last begin
	began        uint64
}

// add adds the duration of an instance that began at that time.
func (d *distribution) add(begin, duration int64) {
	d.begin(begin)
	d.addDuration(duration)
}

// begin counts an instance for the rate.
func (d *distribution) begin(at int64) {
	if d.began == 0 {
		d.begins, d.last = at, at
	}
	d.began++
	d.begins, d.last = min(d.begins, at), max(d.last, at)
}

func (d *distribution) addDuration(ns int64) {
	if d.count == 0 {
		d.min, d.max = ns, ns
	}
	d.count++
	d.sum += ns
	d.min, d.max = min(d.min, ns), max(d.max, ns)
	if d.histogram != nil {
		d.histogram[coarse(ns)]++
		return
	}
	d.samples.Add(ns)
	if d.samples.Len() > exactSamples {
		d.coarsen()
	}
}

func (d *distribution) coarsen() {
	d.histogram = make(map[int64]uint64)
	d.samples.each(func(ns int64) { d.histogram[coarse(ns)]++ })
	d.samples = samples{}
}

// coarse clears all but the leading bits.
func coarse(ns int64) int64 {
	if ns < 0 {
		return -coarse(-ns)
	}
	if drop := bits.Len64(uint64(ns)) - fineBits - 1; drop > 0 {
		return ns >> drop << drop
	}
	return ns
}

// merge adds what another distribution gathered, which is not used any more.
func (d *distribution) merge(other *distribution) {
	if other.began > 0 {
		if d.began == 0 {
			d.begins, d.last = other.begins, other.last
		}
		d.began += other.began
		d.begins, d.last = min(d.begins, other.begins), max(d.last, other.last)
	}
	if other.count == 0 {
		return
	}
	if d.count == 0 {
		d.min, d.max = other.min, other.max
	}
	d.count += other.count
	d.sum += other.sum
	d.min, d.max = min(d.min, other.min), max(d.max, other.max)
	if d.histogram == nil && other.histogram == nil && d.samples.Len()+other.samples.Len() <= exactSamples {
		d.samples.Take(&other.samples.Chunks)
		return
	}
	if d.histogram == nil {
		d.coarsen()
	}
	other.samples.each(func(ns int64) { d.histogram[coarse(ns)]++ })
	for ns, count := range other.histogram {
		d.histogram[ns] += count
	}
}

// shift adds a number to all durations.
func (d *distribution) shift(by int64) {
	d.min, d.max, d.sum = d.min+by, d.max+by, d.sum+by*int64(d.count)
	d.samples.shift(by)
	shifted := make(map[int64]uint64, len(d.histogram))
	for ns, count := range d.histogram {
		shifted[ns+by] += count
	}
	if d.histogram != nil {
		d.histogram = shifted
	}
}

func (d *distribution) statistics() Statistics {
	s := Statistics{Count: d.count, PercentilesExact: d.histogram == nil}
	if d.began > 1 && d.last > d.begins {
		s.Rate = trace.Some(float64(d.began-1) * 1e9 / float64(d.last-d.begins))
	}
	if d.count == 0 {
		return s
	}
	s.Min, s.Max = trace.Some(d.min), trace.Some(d.max)
	s.Mean = trace.Some(d.mean())
	ranked := d.ranked()
	s.P50, s.P90 = trace.Some(ranked(0.5)), trace.Some(ranked(0.9))
	s.P99, s.P999 = trace.Some(ranked(0.99)), trace.Some(ranked(0.999))
	return s
}

// mean is the mean, rounded to the nearest nanosecond.
func (d *distribution) mean() int64 { return meanOf(d.sum, int64(d.count)) }

// meanOf is the mean of n durations with a sum, rounded to the nearest nanosecond.
func meanOf(sum, n int64) int64 {
	quotient, rest := sum/n, sum%n
	switch {
	case 2*rest >= n:
		quotient++
	case -2*rest > n:
		quotient--
	}
	return quotient
}

// ranked returns a function that tells percentiles.
func (d *distribution) ranked() func(share float64) int64 {
	if d.histogram == nil {
		return func(share float64) int64 {
			return rank.Value(d.samples.All(), int(rank.Nearest(share, d.count))-1, d.min, d.max)
		}
	}
	values := make([]int64, 0, len(d.histogram))
	for ns := range d.histogram {
		values = append(values, ns)
	}
	slices.Sort(values)
	return func(share float64) int64 {
		left := rank.Nearest(share, d.count)
		for _, ns := range values {
			count := d.histogram[ns]
			if left <= count {
				return min(max(ns, d.min), d.max)
			}
			left -= count
		}
		return d.max
	}
}
