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
}

type tableRow struct {
	heading string
	cells   []string
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
	row := tableRow{cells: make([]string, len(s.columns))}
	if s.heading != nil {
		row.heading = Printable(s.heading.cell(value))
	}
	for i := range s.columns {
		row.cells[i] = Printable(s.columns[i].cell(value))
		if s.heading != nil && row.cells[i] == row.heading {
			row.cells[i] = "" // it stands above
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
	var shown []layoutColumn
	for _, c := range s.columns {
		shown = append(shown, layoutColumn{
			title: c.title(), right: c.kind != kindText, elastic: c.kind == kindText && c.value.Kind() == reflect.String,
			prose: c.prose, drop: c.drop,
		})
	}
	s.layout = newLayout(s.screen, shown)
	rows := make([][]string, len(s.waiting))
	for i, row := range s.waiting {
		rows[i] = row.cells
	}
	s.layout.fit(rows)
	s.layout.writeHeader(s.out)
	for _, row := range s.waiting {
		s.writeRow(row)
	}
	s.waiting, s.settled = nil, true
}

// leaveOutEmpty leaves the sparse columns out that have no value.
func (s *tableSink) leaveOutEmpty() {
	for i := len(s.columns) - 1; i >= 0; i-- {
		if !s.columns[i].sparse || slices.ContainsFunc(s.waiting, func(row tableRow) bool { return row.cells[i] != Absent }) {
			continue
		}
		s.columns = slices.Delete(s.columns, i, i+1)
		for r := range s.waiting {
			s.waiting[r].cells = slices.Delete(s.waiting[r].cells, i, i+1)
		}
	}
}

func (s *tableSink) writeRow(row tableRow) {
	if s.heading != nil && row.heading != s.above {
		s.above = row.heading
		s.screen.writeLine(s.out, row.heading)
	}
	s.layout.write(s.out, row.cells)
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
