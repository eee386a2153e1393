package report

import (
	"bufio"
	"io"
	"reflect"
	"slices"
)

// fittedRows is the number of rows that decide how wide the columns of an aligned table are. Later rows are written as
// they come.
const fittedRows = 1000

// tableSink writes an aligned table.
type tableSink struct {
	out     *bufio.Writer
	screen  *Screen
	columns []column
	// heading, if not nil, is the column whose value stands above the rows that have it.
	heading *column
	above   string // the heading that was written last
	layout  *layout
	waiting []tableRow // rows until the layout is settled
	settled bool
	isShort bool // columns have their short titles, and short cells
}

type tableRow struct {
	heading string
	cells   []string
	short   []string // the same where there is no room for all columns
}

func newTableSink(w io.Writer, screen *Screen, columns []column) *tableSink {
	s := &tableSink{out: bufio.NewWriter(w), screen: screen}
	for _, c := range columns {
		switch {
		case c.heading:
			s.heading = &c
		case !c.detail:
			s.columns = append(s.columns, c)
		}
	}
	return s
}

func (s *tableSink) write(value reflect.Value) error {
	row := tableRow{cells: make([]string, len(s.columns)), short: make([]string, len(s.columns))}
	if s.heading != nil {
		row.heading = Printable(s.heading.cell(value))
	}
	for i := range s.columns {
		row.cells[i], row.short[i] = Printable(s.columns[i].cell(value)), Printable(s.columns[i].shortCell(value))
		if s.heading != nil && row.cells[i] == row.heading {
			row.cells[i], row.short[i] = "", "" // it stands above
		}
	}
	if s.settled {
		s.writeRow(row)
		return nil
	}
	s.waiting = append(s.waiting, row)
	if len(s.waiting) == fittedRows {
		s.settle()
	}
	return nil
}

func (s *tableSink) settle() {
	s.leaveOutEmpty()
	s.measure()
	if !s.layout.hasRoom() && slices.ContainsFunc(s.columns, func(c column) bool { return c.short != "" }) {
		s.isShort, s.screen.rounded = true, true
		s.measure()
	}
	s.layout.place()
	s.layout.writeHeader(s.out)
	for _, row := range s.waiting {
		s.writeRow(row)
	}
	s.waiting, s.settled = nil, true
}

// measure makes a layout that knows how wide the columns have to be.
func (s *tableSink) measure() {
	shown := make([]layoutColumn, len(s.columns))
	for i, c := range s.columns {
		shown[i] = layoutColumn{
			title: c.title(), right: c.kind != kindText, elastic: c.kind == kindText && c.value.Kind() == reflect.String,
			prose: c.prose, drop: c.drop, below: c.below,
		}
		if s.isShort && c.short != "" {
			shown[i].title, shown[i].whole = c.short, shown[i].title
		}
	}
	rows := make([][]string, len(s.waiting))
	for i, row := range s.waiting {
		rows[i] = s.cellsOf(row)
	}
	s.layout = newLayout(s.screen, shown)
	s.layout.measure(rows)
}

func (s *tableSink) cellsOf(row tableRow) []string {
	if s.isShort {
		return row.short
	}
	return row.cells
}

// leaveOutEmpty leaves the sparse columns out that have no value.
func (s *tableSink) leaveOutEmpty() {
	for i := len(s.columns) - 1; i >= 0; i-- {
		if !s.columns[i].sparse || slices.ContainsFunc(s.waiting, func(row tableRow) bool { return row.cells[i] != Absent }) {
			continue
		}
		s.columns = slices.Delete(s.columns, i, i+1)
		for r := range s.waiting {
			s.waiting[r].cells, s.waiting[r].short = slices.Delete(s.waiting[r].cells, i, i+1), slices.Delete(s.waiting[r].short, i, i+1)
		}
	}
}

func (s *tableSink) writeRow(row tableRow) {
	if s.heading != nil && row.heading != s.above {
		s.above = row.heading
		s.screen.writeLine(s.out, row.heading)
	}
	s.layout.write(s.out, s.cellsOf(row))
}

func (s *tableSink) close() error {
	if !s.settled {
		s.settle()
	}
	return s.out.Flush()
}

// discard leaves no header where there is no row.
func (s *tableSink) discard() error {
	if !s.settled && len(s.waiting) == 0 {
		return nil
	}
	return s.close()
}
