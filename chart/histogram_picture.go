package chart

import (
	"slices"
)

// pictureBins is how many bars a histogram has at most, beside one for what lies below and one for what lies above.
const pictureBins = 60

func (h *Histogram) picture(frame) *picture {
	if h.count == 0 {
		return newEmptyPicture(h.Name, wrap(h.summary(), textWidth))
	}
	b := h.bin(pictureBins)
	first, last := b.first, b.from(len(b.counts))
	scale := h.Unit.scaleFor(max(abs64(first), abs64(last)))
	p := newPicture(h.Name, 190)
	p.x = axis{title: h.Axis + " [" + scale.symbol + "]", first: float64(first), last: float64(last), ticks: numbersOf(first, last, 12, scale)}
	p.notes = wrap(h.extremes(), textWidth)
	addBar := func(i int, count uint64, outside bool) {
		if count == 0 {
			return
		}
		shape := box{point{float64(b.from(i)), 0}, point{float64(b.from(i + 1)), float64(count)}, blue}
		if outside {
			shape.color = orange
		}
		p.boxes = append(p.boxes, shape)
	}
	for i, count := range b.counts {
		addBar(i, count, false)
	}
	if b.below > 0 || b.above > 0 {
		p.legend = append(p.legend, legendEntry{blue, "in the interval"}, legendEntry{orange, "all below or above it: they are far from the others"})
	}
	if b.below > 0 {
		addBar(-1, b.below, true)
		p.x.first = float64(b.from(-1))
	}
	if b.above > 0 {
		addBar(len(b.counts), b.above, true)
		p.x.last = float64(b.from(len(b.counts) + 1))
	}
	most := int64(max(slices.Max(b.counts), b.below, b.above))
	p.y = axis{title: h.Of, last: float64(most) * 1.05, ticks: numbersOf(0, most, 5, scaleOfCounts)}
	return p
}

// scaleOfCounts shows numbers as they are.
var scaleOfCounts = scale{"", 1}
