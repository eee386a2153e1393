package significance

import (
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/rank"
)

// Median is the median of the durations of one recording, in nanoseconds, and what is known of its error.
type Median struct {
	// Count is the number of durations, Kept how many of them the median is of.
	Count, Kept uint64
	Value       int64
	// Error is the standard error: how much the median would differ in other recordings of the same run. It is too small
	// if Known is false.
	Error float64
	// Freedom is the degrees of freedom of Error.
	Freedom float64
	// Effective is the number of independent durations that would tell the median as well. It is too great if Known is
	// false.
	Effective float64
	// Known tells whether the recording is long enough to tell Error: it is many times as long as durations depend on
	// one another.
	Known bool
}

const (
	// spread is the number of standard errors on both sides of a median at which its error is measured. Between two modes
	// durations are few, and the median of another recording may lie in the other one.
	spread = 2
	// clockVariance is that of the error of a time in whole nanoseconds.
	clockVariance = 1.0 / 12
)

// Median returns the median. A series without durations has Count 0.
//
// Its error is found in two steps. How many durations are below the median, slice by slice, is a series whose
// correlation blocking finds. The durations that far from the middle bound the median (Woodruff: Confidence intervals
// for medians and other position measures, J. Am. Stat. Assoc. 47, 1952). No distribution is assumed.
func (s *Series) Median() Median {
	kept := s.durations.Len()
	m := Median{Count: s.count, Kept: uint64(kept)}
	if kept == 0 {
		return m
	}
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, chunk := range s.durations.All() {
		least, greatest = min(least, slices.Min(chunk)), max(greatest, slices.Max(chunk))
	}
	ranked := func(index int) int64 { return rank.Value(s.durations.All(), index, least, greatest) }
	m.Value = ranked((kept - 1) / 2)

	b := sumVariance(s.aboveBySlice(m.Value))
	share := math.Sqrt(b.variance) / float64(kept) // the standard error of the share of durations below the median
	at := func(share float64) float64 {
		return float64(ranked(min(max(int(math.Ceil(share*float64(kept)))-1, 0), kept-1)))
	}
	middle := float64(m.Value)
	reach := max(middle-at(0.5-spread*share), at(0.5+spread*share)-middle)
	m.Error = math.Sqrt(square(reach/spread) + clockVariance)
	m.Freedom = b.freedom
	m.Effective = float64(kept)
	if share > 0 {
		m.Effective = min(0.25/(share*share), float64(kept))
	}
	m.Known = b.enough && spread*share < 0.5
	return m
}

// aboveBySlice returns, for each slice of time with durations, how many more of them are above the median than would be
// expected. A duration that equals the median counts half.
func (s *Series) aboveBySlice(median int64) []float64 {
	var counts, above [timeSlices]float64
	total := 0.0
	places := s.places.All()
	for i, chunk := range s.durations.All() {
		for j, duration := range chunk {
			slice := places[i][j] & (timeSlices - 1)
			counts[slice]++
			switch {
			case duration > median:
				above[slice]++
				total++
			case duration == median:
				above[slice] += 0.5
				total += 0.5
			}
		}
	}
	expected := total / float64(s.durations.Len())
	var values []float64
	for slice, count := range counts {
		if count > 0 {
			values = append(values, above[slice]-expected*count)
		}
	}
	return values
}
