package chart

import "strings"

// bandRows is how many lines a hop takes in a terminal.
const bandRows = 3

// questionMark marks in a terminal where nothing more is known.
const questionMark = "?"

// nameWidth is the part of a terminal's width that the names of rows may take.
func (f frame) nameWidth() int { return f.width * 2 / 5 }

func (m *MessageFlow) terminal(f frame) []string {
	lines := wrap(m.Name, f.width)
	if len(m.flows) == 0 {
		return append(lines, m.notes(f.width, questionMark)...)
	}
	names := make([]string, len(m.Hops))
	for i, hop := range m.Hops {
		names[i] = shorten(hop, f.nameWidth())
	}
	nameWidth := widest(names)
	columns := f.width - nameWidth - 2
	c := newCanvas(columns, bandRows*len(m.Hops))
	band := bandRows * dotsAbove
	x := func(at int64) int { return position(at, f.span.first, f.span.last, c.width()) }
	y := func(stop int) int { return min(stop*band, c.height()-1) }
	for _, of := range m.flows {
		for i := 1; i < len(of.times); i++ {
			c.line(x(of.times[i-1]), y(i-1), x(of.times[i]), y(i))
		}
	}
	// Marks come last: no line may hide them.
	for _, of := range m.flows {
		last := len(of.times) - 1
		switch at := x(of.times[last]); of.end {
		case Lost:
			c.line(at, y(last), at, y(last)+dotsAbove)
			c.mark(at, y(last)+dotsAbove, '×')
		case Uncertain:
			c.line(at, y(last), at, y(last)+dotsAbove)
			c.mark(at, y(last)+dotsAbove, '?')
		}
	}
	for i := range c.rows {
		name, edge := "", "│"
		switch i % bandRows {
		case 0:
			edge = "┼"
		case bandRows / 2:
			name = names[i/bandRows]
		}
		lines = append(lines, padLeft(name, nameWidth)+" "+edge+c.row(i))
	}
	lines = append(lines, f.span.timeAxis(nameWidth+1, columns)...)
	if len(m.flows) > columns {
		lines = append(lines, wrap("these are more ways than can be told apart here: less time shows more", f.width)...)
	}
	return append(lines, m.notes(f.width, questionMark)...)
}

// blank is a line of spaces that characters are put into.
func blank(columns int) []rune { return []rune(strings.Repeat(" ", columns)) }
