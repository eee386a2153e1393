package chart

import (
	"strings"
)

// stackedRows is how many bars a terminal shows at most, one a line.
const stackedRows = 24

// letterOf is the character that a part is drawn with in a terminal.
func letterOf(part int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	return letters[part%len(letters):][:1]
}

func (s *StackedBar) terminal(f frame) []string {
	lines := []string{shorten(s.Name, f.width)}
	if s.count == 0 {
		return append(lines, s.notes(0, 0, f.width)...)
	}
	found, length := s.intervals(f.span, stackedRows)
	times := Nanoseconds.scaleFor(f.span.last - f.span.first)
	scale := Nanoseconds.scaleFor(s.greatest)
	begins, totals := []string{"time [" + times.symbol + "]"}, []string{s.Axis + " [" + scale.symbol + "]"}
	for _, in := range found {
		begins = append(begins, times.number(in.begin, length))
		totals = append(totals, scale.number(in.total, niceStep(s.greatest, 1000)))
	}
	beginWidth, totalWidth := widest(begins), widest(totals)
	columns := max(f.width-beginWidth-totalWidth-4, 8)
	lines = append(lines, padLeft(begins[0], beginWidth)+"  "+padLeft(totals[0], totalWidth))
	for i, in := range found {
		lines = append(lines, padLeft(begins[i+1], beginWidth)+"  "+padLeft(totals[i+1], totalWidth)+"  "+s.barOf(in.parts, columns))
	}
	for i, part := range s.Parts {
		lines = append(lines, shorten(letterOf(i)+"  "+part, f.width))
	}
	lines = append(lines, wrap(timeTitle(f.span.first, times), f.width)...)
	return append(lines, s.notes(len(found), length, f.width)...)
}

// barOf is a bar of letters. Parts end where their share of the greatest bar does, so short ones may have none.
func (s *StackedBar) barOf(parts []int64, columns int) string {
	var text strings.Builder
	var sum int64
	for i, part := range parts {
		sum += part
		end := int(float64(sum)/float64(max(s.greatest, 1))*float64(columns) + 0.5)
		text.WriteString(strings.Repeat(letterOf(i), max(0, end-text.Len())))
	}
	return text.String()
}
