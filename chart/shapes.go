package chart

import (
	"image/color"

	"gonum.org/v1/plot/vg"
)

// point is a place in a picture, in the numbers of its axes.
type point struct{ x, y float64 }

// shapes are what a picture shows between its axes.
type shapes struct {
	boxes []box
	lines []polyline
	marks []mark
}

// box is a filled rectangle.
type box struct {
	from, to point
	color    color.Color
}

// polyline leads from point to point.
type polyline struct {
	points []point
	color  color.Color
	width  vg.Length
}

// mark is a sign at a place.
type mark struct {
	at    point
	color color.Color
	sign  sign
}

// sign is what a mark looks like.
type sign int

// The signs.
const (
	dot sign = iota
	cross
	ringSign
)

// leastBox is the width of boxes that would be narrower: everything is to be seen.
const leastBox vg.Length = 0.6

// shapes draws shapes. Marks come last: nothing hides them.
func (c *pen) shapes(s *shapes, in plotArea) {
	for _, b := range s.boxes {
		from, to := in.place(b.from), in.place(b.to)
		to.X = max(to.X, from.X+leastBox)
		c.box(from, to, b.color)
	}
	for _, l := range s.lines {
		c.line(l.width, l.color, in.places(l.points)...)
	}
	for _, m := range s.marks {
		c.mark(m.sign, in.place(m.at), m.color)
	}
}

// mark draws a sign at a place.
func (c *pen) mark(of sign, at vg.Point, in color.Color) {
	c.SetColor(in)
	c.SetLineWidth(1)
	switch of {
	case dot:
		c.Fill(circle(at, 1.5))
	case ringSign:
		c.Stroke(circle(at, 3))
	case cross:
		const size = 3
		c.line(1, in, vg.Point{X: at.X - size, Y: at.Y - size}, vg.Point{X: at.X + size, Y: at.Y + size})
		c.line(1, in, vg.Point{X: at.X - size, Y: at.Y + size}, vg.Point{X: at.X + size, Y: at.Y - size})
	}
}
