package chart

import "strings"

// timeAxis returns the axis of time below what is that many columns wide, behind a margin: a line with ticks, their
// numbers, and what they mean.
func (s span) timeAxis(margin, columns int) []string {
	scale := Nanoseconds.scaleFor(s.last - s.first)
	ticks, step := ticksBetween(0, s.last-s.first, max(columns/10, 2))
	line := []rune(strings.Repeat("─", columns))
	numbers := []rune(strings.Repeat(" ", columns))
	free := 0 // from where on there is room for a number
	for _, at := range ticks {
		column := position(at, 0, s.last-s.first, columns)
		line[column] = '┬'
		number := []rune(scale.number(at, step))
		from := min(max(column-len(number)/2, 0), columns-len(number))
		if from < free {
			continue
		}
		copy(numbers[from:], number)
		free = from + len(number) + 1
	}
	title := shorten(timeTitle(s.first, scale), margin+1+columns)
	if free := columns - cells(title); free > 0 {
		title = strings.Repeat(" ", margin+1+free/2) + title
	}
	space := strings.Repeat(" ", margin)
	return []string{space + "└" + string(line), space + " " + string(numbers), title}
}
