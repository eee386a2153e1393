package chart

import "strings"

// shares are blocks of growing height.
var shares = []rune(" ▁▂▃▄▅▆▇█")

func (c *CallbackScheduling) terminal(f frame) []string {
	var lines []string
	if c.Name != "" {
		lines = append(lines, shorten(c.Name, f.width))
	}
	if c.count == 0 {
		return append(lines, c.notes(f.width, questionMark)...)
	}
	rows := c.ordered()
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = shorten(row.callback, f.nameWidth())
	}
	nameWidth := widest(names)
	columns := f.width - nameWidth - 2
	thread := ""
	for i, row := range rows {
		if row.thread != thread {
			thread = row.thread
			lines = append(lines, shorten(thread, f.width))
		}
		lines = append(lines, padLeft(names[i], nameWidth)+" │"+row.shares(f.span, columns))
	}
	lines = append(lines, f.span.timeAxis(nameWidth+1, columns)...)
	lines = append(lines, wrap("the height is the share of the time of a column in which the callback ran", f.width)...)
	return append(lines, c.notes(f.width, questionMark)...)
}

// shares draws for each column which share of its time executions took. What ran at all can be seen.
func (r *schedulingRow) shares(axis span, columns int) string {
	busy := make([]float64, columns)
	line := blank(columns)
	length := float64(axis.last-axis.first) / float64(columns)
	for _, e := range r.boxes {
		first, last := position(e.begin, axis.first, axis.last, columns), position(e.end, axis.first, axis.last, columns)
		for column := first; column <= last; column++ {
			from := max(float64(e.begin-axis.first), float64(column)*length)
			to := min(float64(e.end-axis.first), float64(column+1)*length)
			busy[column] += max(to-from, 0)
			line[column] = shares[1]
		}
	}
	for column, time := range busy {
		if line[column] != ' ' {
			line[column] = shares[min(max(int(time/length*8+0.5), 1), 8)]
		}
	}
	for _, e := range r.boxes {
		if e.open {
			line[position(e.begin, axis.first, axis.last, columns)] = '?'
		}
	}
	return strings.TrimRight(string(line), " ")
}
