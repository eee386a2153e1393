package chart

import "strings"

// seriesRows is how many lines the plot of a time series has.
const seriesRows = 10

func (s *TimeSeries) terminal(f frame) []string {
	lines := []string{shorten(s.Name, f.width)}
	if s.count+s.absent == 0 {
		return append(lines, s.notes(f.width)...)
	}
	first, last := s.values()
	scale := s.Unit.scaleFor(max(abs64(first), abs64(last)))
	ticks, step := ticksBetween(first, last, 5)
	labels := make(map[int]string)
	labelWidth := 0
	for _, tick := range ticks {
		label := scale.number(tick, step)
		labels[seriesRows-1-position(tick, first, last, seriesRows)] = label
		labelWidth = max(labelWidth, len(label))
	}
	columns := f.width - labelWidth - 2
	c := newCanvas(columns, seriesRows)
	absent := []rune(strings.Repeat(" ", columns))
	x := func(at int64) int { return position(at, f.span.first, f.span.last, c.width()) }
	y := func(value int64) int { return c.height() - 1 - position(value, first, last, c.height()) }
	s.eachMoment(func(at int64, m moment) {
		if m.count > 0 {
			c.line(x(at), y(m.min), x(at), y(m.max))
		}
		if m.absent > 0 {
			absent[x(at)/dotsBeside] = '×'
		}
	})
	lines = append(lines, s.Axis+" ["+scale.symbol+"]")
	for i := range seriesRows {
		edge := "│"
		if labels[i] != "" {
			edge = "┤"
		}
		lines = append(lines, padLeft(labels[i], labelWidth)+" "+edge+c.row(i))
	}
	if s.absent > 0 {
		lines = append(lines, strings.Repeat(" ", labelWidth+1)+"│"+string(absent))
	}
	lines = append(lines, f.span.timeAxis(labelWidth+1, columns)...)
	return append(lines, s.notes(f.width)...)
}
