package report

import (
	"bufio"
	"io"
	"strings"
)

// Aligned writes aligned columns that fit a screen. A header that ends in ">" right-aligns its column, whose cells are
// never shortened. One that ends in "|" is of prose, which is broken into lines. On a narrow screen other cells are
// shortened, and columns are left out from the right. Cells are made Printable.
func Aligned(w io.Writer, screen *Screen, header []string, rows [][]string) error {
	out := bufio.NewWriter(w)
	columns := make([]layoutColumn, len(header))
	for i, name := range header {
		title, right := strings.CutSuffix(name, ">")
		title, prose := strings.CutSuffix(title, "|")
		columns[i] = layoutColumn{title: title, right: right, elastic: !right, prose: prose}
	}
	layout := newLayout(screen, columns)
	layout.fit(rows)
	layout.writeHeader(out)
	for _, row := range rows {
		layout.write(out, row)
	}
	return out.Flush()
}
