package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// pen draws on a canvas, whose origin is at the bottom left.
type pen struct {
	vg.Canvas
	*typesetter
}

// text writes a text whose top is at a place.
func (c *pen) text(size vg.Length, text string, at vg.Point, a alignment) {
	face := c.sized(size)
	at.X -= c.width(size, text) * vg.Length(a)
	at.Y -= face.Extents().Ascent
	c.SetColor(black)
	c.FillString(face, at, text)
}

// uprightText writes a text from below to above, whose middle is at a place and whose top is left of it.
func (c *pen) uprightText(size vg.Length, text string, at vg.Point) {
	c.Push()
	c.Translate(at)
	c.Rotate(math.Pi / 2)
	c.text(size, text, vg.Point{}, center)
	c.Pop()
}

// box fills a rectangle.
func (c *pen) box(from, to vg.Point, fill color.Color) {
	var path vg.Path
	path.Move(from)
	path.Line(vg.Point{X: to.X, Y: from.Y})
	path.Line(to)
	path.Line(vg.Point{X: from.X, Y: to.Y})
	path.Close()
	c.SetColor(fill)
	c.Fill(path)
}

// line draws from point to point.
func (c *pen) line(width vg.Length, stroke color.Color, points ...vg.Point) {
	if len(points) < 2 {
		return
	}
	var path vg.Path
	path.Move(points[0])
	for _, next := range points[1:] {
		path.Line(next)
	}
	c.SetLineWidth(width)
	c.SetColor(stroke)
	c.Stroke(path)
}

// circle returns the path of a circle.
func circle(center vg.Point, radius vg.Length) vg.Path {
	var path vg.Path
	path.Move(vg.Point{X: center.X + radius, Y: center.Y})
	path.Arc(center, radius, 0, 2*math.Pi)
	path.Close()
	return path
}
