package chart

import (
	"gonum.org/v1/plot/vg"
)

// ring is how texts show the mark of where nothing more is known.
const ring = "○"

// nameLength is how many characters of names stand beside the rows of SVG and PNG.
const nameLength = 48

func (m *MessageFlow) picture(f frame) *picture {
	if len(m.flows) == 0 {
		return newEmptyPicture(m.Name, m.notes(textWidth, ring))
	}
	hops := len(m.Hops)
	p := newPicture(m.Name, vg.Length(70+50*hops))
	p.notes = m.notes(textWidth, ring)
	p.x, p.y = f.span.axisOf(), axis{title: "hop", last: float64(hops)}
	y := func(stop int) float64 { return float64(hops - stop) }
	for i, hop := range m.Hops {
		p.y.ticks = append(p.y.ticks, tick{y(i) - 0.5, shorten(hop, nameLength)})
		p.lines = append(p.lines, polyline{[]point{{0, y(i)}, {p.x.last, y(i)}}, pale, 0.5})
	}
	for n, of := range m.flows {
		line := polyline{color: palette(n), width: 0.8}
		for i, at := range of.times {
			line.points = append(line.points, point{float64(at - f.span.first), y(i)})
		}
		last := line.points[len(line.points)-1]
		end := point{last.x, last.y - 0.3}
		switch of.end {
		case Lost:
			line.points = append(line.points, end)
			p.marks = append(p.marks, mark{end, red, cross})
		case Uncertain:
			line.points = append(line.points, end)
			p.marks = append(p.marks, mark{end, black, ringSign})
		}
		p.lines = append(p.lines, line)
	}
	return p
}
