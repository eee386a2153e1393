package chart

import (
	"math"
	"math/bits"
)

// keptValues is how many different values a histogram keeps.
const keptValues = 1 << 13

// Histogram draws how often values of which size were.
//
// It keeps 8,192 different values, and the least and the greatest. Where there are more, it rounds values down, by less
// than 2 %.
type Histogram struct {
	Name string
	// Axis is what the values are: "latency".
	Axis string
	Unit Unit
	// Of is what has the values: "executions".
	Of string
	// Missing is said below.
	Missing []Missing

	values   bounded[uint64] // how often
	count    uint64
	min, max int64
}

// Add adds a value.
func (h *Histogram) Add(value int64) {
	value = limitValue(value)
	if h.count == 0 {
		h.values = bounded[uint64]{limit: keptValues, round: leadingBits, merge: func(into *uint64, more uint64) { *into += more }}
		h.min, h.max = value, value
	}
	h.count++
	h.min, h.max = min(h.min, value), max(h.max, value)
	h.values.add(value, 1)
}

// leadingBits rounds a number towards zero, to 64 − coarseness bits.
func leadingBits(value int64, coarseness uint) int64 {
	size := uint64(value)
	if value < 0 {
		size = -size
	}
	kept := 64 - int(coarseness)
	if drop := bits.Len64(size) - max(kept, 1); drop > 0 {
		size = size >> drop << drop
	}
	if value < 0 {
		return -int64(size)
	}
	return int64(size)
}

func (h *Histogram) span() (span, bool) { return span{}, false }

func (h *Histogram) summary() string { return summary(h.count, h.Of, h.Missing) }

// bins are equal parts of the values that are not far from the others, and what lies below and above those.
type bins struct {
	first, step  int64
	counts       []uint64
	below, above uint64
}

// from returns where a bin begins.
func (b *bins) from(i int) int64 { return b.first + int64(i)*b.step }

// fewestBins is how many bins a histogram of very few values has, if it has not less values.
const fewestBins = 5

// bin counts the values in so many bins at most, in fewer if there are few values. There must be one.
func (h *Histogram) bin(most int) bins {
	most = min(most, max(fewestBins, int(2*math.Sqrt(float64(h.count)))))
	first, last := h.core()
	length := last - first + 1
	if length == 1 {
		length = max(abs64(last)/1000, 1) // one bin, whose ends need not many digits
	}
	b := bins{step: niceStep(length, most)}
	for { // it may take one bin more, because the first begins at a multiple
		b.first = floorTo(first, b.step)
		if (last-b.first)/b.step < int64(most) {
			break
		}
		b.step = niceStep(b.step+1, 1)
	}
	b.counts = make([]uint64, (last-b.first)/b.step+1)
	for _, value := range h.values.all() {
		// Rounding must not put a value below the least.
		switch at := max(value.key, h.min); {
		case at < b.first:
			b.below += value.what
		case at >= b.from(len(b.counts)):
			b.above += value.what
		default:
			b.counts[(at-b.first)/b.step] += value.what
		}
	}
	return b
}

// core returns the interval that is divided into bins. The extremes are in it unless they are farther from 98 of 100
// values than twice the length of what these span.
func (h *Histogram) core() (first, last int64) {
	outer := max(1, h.count/100)
	if h.count < 20 {
		return h.min, h.max
	}
	low, high := h.ranked(outer), h.ranked(h.count-1-outer)
	length := max(high-low, 1)
	first, last = h.min, h.max
	if h.min < low-2*length {
		first = low - length/4
	}
	if h.max > high+2*length {
		last = high + length/4
	}
	return first, last
}

// ranked returns the value that so many others are not greater than.
func (h *Histogram) ranked(rank uint64) int64 {
	var before uint64
	for _, value := range h.values.all() {
		if before += value.what; before > rank {
			return value.key
		}
	}
	return h.max
}
