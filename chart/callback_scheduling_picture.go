package chart

import (
	"gonum.org/v1/plot/vg"
)

func (c *CallbackScheduling) picture(f frame) *picture {
	if c.count == 0 {
		return newEmptyPicture(c.Name, c.notes(textWidth, ring))
	}
	rows := c.ordered()
	var names []tick
	var shown shapes
	at, threads := 0.0, -1
	thread := ""
	for _, row := range rows {
		if row.thread != thread || threads < 0 {
			threads++
			thread = row.thread
			at--
			shown.lines = append(shown.lines, polyline{[]point{{0, at}, {float64(f.span.last - f.span.first), at}}, gray, 0.5})
			names = append(names, tick{at + 0.5, shorten(thread, nameLength)})
		}
		at--
		names = append(names, tick{at + 0.5, shorten(row.callback, nameLength)})
		for _, e := range row.boxes {
			begin, end := float64(e.begin-f.span.first), float64(e.end-f.span.first)
			if e.open {
				shown.marks = append(shown.marks, mark{point{begin, at + 0.5}, red, ringSign})
			} else {
				shown.boxes = append(shown.boxes, box{point{begin, at + 0.15}, point{end, at + 0.85}, palette(threads)})
			}
		}
	}
	p := newPicture(c.Name, vg.Length(70-14*at))
	p.x = f.span.axisOf()
	p.y = axis{title: "callbacks of threads", first: at, ticks: names}
	p.shapes = shown
	p.notes = c.notes(textWidth, ring)
	return p
}
