package report

import (
	"bufio"
	"cmp"
	"slices"
	"strings"
)

const (
	// gap is the number of cells between columns.
	gap = 2
	// comfortable is how far names are shortened before a column that a table can do without is left out, tight how far
	// before any other is. Both are cells.
	comfortable = 20
	tight       = 14
	// readable is the width of prose that is still pleasant to read.
	readable = 40
	// indent is the number of cells before what stands below a row.
	indent = 4
)

// layoutColumn is a column of an aligned table.
type layoutColumn struct {
	title string
	right bool
	// elastic columns can be shortened.
	elastic bool
	// prose is broken into lines instead.
	prose bool
	// drop is when the column is left out, the lower the earlier; 0 is after all others.
	drop int
	// below is what cells are called below the rows, where there is no room for the column; "" if they are not shown
	// there.
	below string
	// whole is the title that the reader is told of, if the column has a short one.
	whole string

	natural int // the width of what the column holds
	width   int
	left    bool // it is left out
	empty   bool // nothing is in it
	// names are the different cells of an elastic column, short how they are shown where that is shorter.
	names []string
	short map[string]string
}

// shortTitle is the title of a column that is narrower than that.
func (c *layoutColumn) shortTitle() string { return strings.TrimSuffix(c.title, " NAME") }

// layout is where the columns of an aligned table are.
type layout struct {
	screen  *Screen
	columns []layoutColumn
}

func newLayout(screen *Screen, columns []layoutColumn) *layout {
	for i := range columns {
		columns[i].natural = Width(columns[i].title)
	}
	return &layout{screen: screen, columns: columns}
}

// fit makes the columns wide enough for the rows, whose cells it makes Printable, as far as the screen has room.
func (l *layout) fit(rows [][]string) {
	l.measure(rows)
	l.place()
}

// measure finds out how wide the columns have to be for the rows, whose cells it makes Printable.
func (l *layout) measure(rows [][]string) {
	for i := range l.columns {
		c := &l.columns[i]
		c.empty = len(rows) > 0
		known := make(map[string]bool)
		for _, row := range rows {
			row[i] = Printable(row[i])
			c.natural = max(c.natural, Width(row[i]))
			c.empty = c.empty && (row[i] == Absent || row[i] == "")
			if c.elastic && !known[row[i]] {
				known[row[i]] = true
				c.names = append(c.names, row[i])
			}
		}
	}
}

// hasRoom reports whether there is room for all columns.
func (l *layout) hasRoom() bool { return l.screen.Width == 0 || l.least(comfortable) <= l.screen.Width }

// place gives the columns their widths, and leaves some out if there is no room.
func (l *layout) place() {
	if l.screen.Width > 0 {
		l.choose()
	}
	l.share()
}

// choose leaves out columns that there is no room for: those without any value, then those that a table can do without,
// then the last ones.
func (l *layout) choose() {
	var left []int
	leaveOut := func(floor int, next func() int) {
		for l.least(floor) > l.screen.Width {
			i := next()
			if i < 0 {
				return
			}
			l.columns[i].left = true
			left = append(left, i)
		}
	}
	leaveOut(comfortable, l.lastEmpty)
	leaveOut(comfortable, l.dispensable)
	leaveOut(tight, l.last)
	// A wide column may leave room for a narrow one that had to go before.
	for _, i := range slices.Backward(left) {
		if c := &l.columns[i]; c.below != "" || c.empty {
			continue // the former belongs to others there
		}
		l.columns[i].left = false
		l.columns[i].left = l.least(comfortable) > l.screen.Width
	}
	for _, c := range l.columns {
		if c.left && (c.below == "" || c.empty) {
			l.screen.leave(cmp.Or(c.whole, c.title))
		}
	}
}

// least is the width of a table whose names are shortened as far as the floor. Comfort includes whole titles.
func (l *layout) least(floor int) int {
	width := -gap
	for _, c := range l.columns {
		switch {
		case c.left:
		case !c.elastic:
			width += gap + c.natural
		case floor == comfortable && c.prose:
			width += gap + min(c.natural, readable)
		case floor == comfortable:
			width += gap + min(c.natural, max(floor, Width(c.shortTitle())))
		default:
			width += gap + min(c.natural, floor)
		}
	}
	return width
}

// dispensable is the column to leave out first of those with an order, -1 if there is none.
func (l *layout) dispensable() int {
	found := -1
	for i, c := range l.columns {
		if !c.left && c.drop > 0 && (found < 0 || c.drop <= l.columns[found].drop) {
			found = i
		}
	}
	return found
}

// lastEmpty is the last column without a value, -1 if there is none. The first column stays.
func (l *layout) lastEmpty() int {
	first := slices.IndexFunc(l.columns, func(c layoutColumn) bool { return !c.left })
	for i, c := range slices.Backward(l.columns) {
		if i > first && c.empty && !c.left {
			return i
		}
	}
	return -1
}

// last is the last column, -1 if it is the only one.
func (l *layout) last() int {
	found, first := -1, -1
	for i, c := range l.columns {
		if c.left {
			continue
		}
		if first < 0 {
			first = i
		} else {
			found = i
		}
	}
	return found
}

// share makes columns as wide as what they hold. If there is less room, the widest of those that can be shortened give
// way.
func (l *layout) share() {
	var elastic []*layoutColumn
	room, shown := l.screen.Width+gap, 0
	for i := range l.columns {
		c := &l.columns[i]
		c.width = c.natural
		switch {
		case c.left:
			continue
		case c.elastic:
			elastic = append(elastic, c)
			room -= gap
		default:
			room -= gap + c.natural
		}
		shown++
	}
	if l.screen.Width == 0 {
		return
	}
	if shown == 1 && len(elastic) == 0 { // nothing else can give way
		c := &l.columns[slices.IndexFunc(l.columns, func(c layoutColumn) bool { return !c.left })]
		c.width = min(c.natural, l.screen.Width)
		return
	}
	slices.SortStableFunc(elastic, func(a, b *layoutColumn) int { return a.natural - b.natural })
	for i, c := range elastic {
		c.width = min(c.natural, max(0, room/(len(elastic)-i)))
		room -= c.width
		if c.width < c.natural && !c.prose {
			c.short = shortenApart(c.names, c.width)
		}
	}
}

func (l *layout) writeHeader(w *bufio.Writer) {
	titles := make([]string, len(l.columns))
	for i, c := range l.columns {
		if titles[i] = c.title; Width(c.title) > c.width {
			titles[i] = Shorten(c.shortTitle(), c.width)
		}
	}
	l.writeCells(w, titles)
}

// write writes a row. Errors stay in w.
func (l *layout) write(w *bufio.Writer, row []string) {
	l.writeCells(w, row)
	l.writeBelow(w, row)
}

// writeCells writes the cells of a row. Where there is no screen, what is wider than its column shifts the rest of the
// line.
func (l *layout) writeCells(w *bufio.Writer, row []string) {
	cells := make([][]string, len(row))
	lines := 1
	for i := range row {
		cells[i] = l.fitted(i, row[i])
		lines = max(lines, len(cells[i]))
	}
	for at := range lines {
		var line strings.Builder
		separator := ""
		for i, c := range l.columns {
			if c.left {
				continue
			}
			cell := ""
			if at < len(cells[i]) {
				cell = cells[i][at]
			}
			padding := strings.Repeat(" ", max(0, c.width-Width(cell)))
			if c.right {
				cell = padding + cell
			} else {
				cell += padding
			}
			line.WriteString(separator + cell)
			separator = strings.Repeat(" ", gap)
		}
		_, _ = w.WriteString(strings.TrimRight(line.String(), " "))
		_ = w.WriteByte('\n')
	}
}

// writeBelow writes what there was no room for in a row.
func (l *layout) writeBelow(w *bufio.Writer, row []string) {
	var texts []string
	for i, c := range l.columns {
		if c.left && c.below != "" && row[i] != Absent && row[i] != "" {
			texts = append(texts, c.below+" "+row[i])
		}
	}
	if len(texts) == 0 {
		return
	}
	for _, line := range wrap(strings.Join(texts, ", "), max(1, l.screen.Width-indent)) {
		_, _ = w.WriteString(strings.Repeat(" ", min(indent, l.screen.Width-1)) + line + "\n")
	}
}

// fitted returns the lines of a cell in its column. Numbers that were narrower before take their room from the names.
func (l *layout) fitted(i int, cell string) []string {
	c := &l.columns[i]
	if l.screen.Width == 0 || c.left || Width(cell) <= c.width {
		return []string{cell}
	}
	if !c.elastic && Width(cell) > c.natural {
		c.natural = Width(cell)
		l.share()
	}
	if c.prose {
		return wrap(cell, c.width)
	}
	l.screen.shortened = true
	short, known := c.short[cell]
	if !known {
		short = Shorten(cell, c.width)
	}
	return []string{short}
}
