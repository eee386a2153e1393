package chart

import (
	"fmt"
	"slices"
	"strings"
)

// terminalBins is how many lines the bins of a histogram take at most.
const terminalBins = 20

// eighths are the beginnings of a full block.
var eighths = []rune(" ▏▎▍▌▋▊▉█")

// bar is a line whose length is a share of so many columns. What there is of anything can be seen.
func bar(value, of uint64, columns int) string {
	if value == 0 || of == 0 {
		return ""
	}
	length := max(1, int(float64(value)/float64(of)*float64(columns)*8+0.5))
	text := strings.Repeat("█", length/8)
	if rest := length % 8; rest > 0 {
		text += string(eighths[rest])
	}
	return text
}

func (h *Histogram) terminal(f frame) []string {
	lines := []string{shorten(h.Name, f.width)}
	if h.count == 0 {
		return append(lines, wrap(h.summary(), f.width)...)
	}
	b := h.bin(terminalBins)
	scale := h.Unit.scaleFor(max(abs64(b.first), abs64(b.from(len(b.counts)))))
	labels, counts, rows := []string{h.Axis + " [" + scale.symbol + "]"}, []string{h.Of}, []uint64{0}
	add := func(label string, count uint64) {
		labels, counts, rows = append(labels, label), append(counts, groupDigits(count)), append(rows, count)
	}
	if b.below > 0 {
		add("below", b.below)
	}
	for i, count := range b.counts {
		add(fmt.Sprintf("%s – %s", scale.number(b.from(i), b.step), scale.number(b.from(i+1), b.step)), count)
	}
	if b.above > 0 {
		add("above", b.above)
	}
	labelWidth, countWidth := widest(labels), widest(counts)
	columns := max(f.width-labelWidth-countWidth-4, 8)
	most := slices.Max(rows)
	for i, label := range labels {
		lines = append(lines, padLeft(label, labelWidth)+"  "+padLeft(counts[i], countWidth)+"  "+bar(rows[i], most, columns))
	}
	return append(lines, wrap(h.extremes(), f.width)...)
}

// extremes says how many values there are, from which to which, and what is missing.
func (h *Histogram) extremes() string {
	return fmt.Sprintf("least %s, greatest %s; %s", h.Unit.show(h.min), h.Unit.show(h.max), h.summary())
}

func abs64(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
