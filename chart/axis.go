package chart

import (
	"slices"

	"gonum.org/v1/plot/vg"
)

// axis is one axis of a picture: the numbers from first to last.
type axis struct {
	title       string
	first, last float64
	ticks       []tick
}

// tick is a place of an axis with its label.
type tick struct {
	at    float64
	label string
}

// Lengths of axes, in points.
const (
	tickLength = 4
	tickText   = 9
	titleText  = 10
)

// share returns where a number is on the axis: 0 at its begin, 1 at its end.
func (a *axis) share(of float64) vg.Length {
	return vg.Length((of - a.first) / (a.last - a.first))
}

// isEmpty tells whether there is no axis.
func (a *axis) isEmpty() bool { return a.first == a.last }

// numbersOf are about as many ticks as wanted, with the numbers of a scale.
func numbersOf(first, last int64, wanted int, s scale) (ticks []tick) {
	values, step := ticksBetween(first, last, wanted)
	for _, at := range values {
		ticks = append(ticks, tick{float64(at), s.number(at, step)})
	}
	return ticks
}

// axisOf returns an axis of time. Its numbers are nanoseconds since the begin.
func (s span) axisOf() axis {
	length := s.last - s.first
	scale := Nanoseconds.scaleFor(length)
	return axis{title: timeTitle(s.first, scale), last: float64(length), ticks: numbersOf(0, length, 10, scale)}
}

// inset returns the width of what stands left of a vertical axis.
func (c *pen) inset(y *axis) vg.Length {
	var widest vg.Length
	for _, t := range y.ticks {
		widest = max(widest, c.width(tickText, t.label))
	}
	if y.title != "" {
		widest += titleText + 6
	}
	return widest + tickLength + 3
}

// panel draws a picture into an area that begins at its vertical axis.
func (c *pen) panel(p *picture, area vg.Rectangle) {
	middle := (area.Min.X + area.Max.X) / 2
	c.text(12, c.fit(12, p.title, area.Size().X), vg.Point{X: middle, Y: area.Max.Y}, center)
	if p.x.isEmpty() || p.y.isEmpty() {
		return
	}
	in := plotArea{
		area: vg.Rectangle{
			Min: vg.Point{X: area.Min.X, Y: area.Min.Y + titleText + tickText + tickLength + 10}, Max: vg.Point{X: area.Max.X, Y: area.Max.Y - 20},
		},
		x: &p.x, y: &p.y,
	}
	c.shapes(&p.shapes, in)
	c.line(0.5, black, vg.Point{X: in.area.Min.X, Y: in.area.Max.Y}, in.area.Min, vg.Point{X: in.area.Max.X, Y: in.area.Min.Y})
	for _, t := range p.x.ticks {
		at := vg.Point{X: in.place(point{t.at, 0}).X, Y: in.area.Min.Y}
		c.line(0.5, black, at, vg.Point{X: at.X, Y: at.Y - tickLength})
		c.text(tickText, t.label, vg.Point{X: at.X, Y: at.Y - tickLength - 1}, center)
	}
	c.text(titleText, p.x.title, vg.Point{X: middle, Y: in.area.Min.Y - tickLength - tickText - 4}, center)
	for _, t := range p.y.ticks {
		at := vg.Point{X: in.area.Min.X, Y: in.place(point{0, t.at}).Y}
		c.line(0.5, black, at, vg.Point{X: at.X - tickLength, Y: at.Y})
		c.text(tickText, t.label, vg.Point{X: at.X - tickLength - 2, Y: at.Y + tickText/2 + 1}, right)
	}
	c.uprightText(titleText, p.y.title, vg.Point{X: in.area.Min.X - c.inset(&p.y), Y: (in.area.Min.Y + in.area.Max.Y) / 2})
}

// plotArea is where numbers of two axes are on a canvas.
type plotArea struct {
	area vg.Rectangle
	x, y *axis
}

func (a plotArea) place(p point) vg.Point {
	size := a.area.Size()
	return vg.Point{X: a.area.Min.X + size.X*a.x.share(p.x), Y: a.area.Min.Y + size.Y*a.y.share(p.y)}
}

func (a plotArea) places(points []point) []vg.Point {
	placed := slices.Grow([]vg.Point(nil), len(points))
	for _, p := range points {
		placed = append(placed, a.place(p))
	}
	return placed
}
