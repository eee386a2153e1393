package report

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// Aligned writes aligned columns. A header that ends in ">" right-aligns its column. Cells are made Printable.
func Aligned(w io.Writer, header []string, rows [][]string) error {
	out := bufio.NewWriter(w)
	layout := newLayout(header)
	layout.fit(rows)
	layout.writeHeader(out)
	for _, row := range rows {
		layout.write(out, row)
	}
	return out.Flush()
}

// layout is where the columns of an aligned table are.
type layout struct {
	names  []string
	widths []int
	right  []bool
}

func newLayout(header []string) *layout {
	l := &layout{names: make([]string, len(header)), widths: make([]int, len(header)), right: make([]bool, len(header))}
	for i, name := range header {
		l.names[i], l.right[i] = strings.CutSuffix(name, ">")
		l.widths[i] = utf8.RuneCountInString(l.names[i])
	}
	return l
}

// fit makes the columns wide enough for the rows, whose cells it makes Printable.
func (l *layout) fit(rows [][]string) {
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Printable(cell)
			l.widths[i] = max(l.widths[i], utf8.RuneCountInString(row[i]))
		}
	}
}

func (l *layout) writeHeader(w *bufio.Writer) { l.write(w, l.names) }

// write writes a row. What is wider than its column shifts the rest of the line. Errors stay in w.
func (l *layout) write(w *bufio.Writer, row []string) {
	var line strings.Builder
	for i, cell := range row {
		padding := strings.Repeat(" ", max(0, l.widths[i]-utf8.RuneCountInString(cell)))
		if i > 0 {
			line.WriteString("  ")
		}
		if l.right[i] {
			line.WriteString(padding + cell)
		} else {
			line.WriteString(cell + padding)
		}
	}
	_, _ = w.WriteString(strings.TrimRight(line.String(), " "))
	_ = w.WriteByte('\n')
}
