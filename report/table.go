package report

import (
	"bufio"
	"io"
	"reflect"
)

// fittedRows is the number of rows that decide how wide the columns of an aligned table are. Later rows are written as
// they come.
const fittedRows = 1000

// tableSink writes an aligned table.
type tableSink struct {
	out     *bufio.Writer
	columns []column
	layout  *layout
	waiting [][]string // rows until the layout is settled
	settled bool
}

func newTableSink(w io.Writer, columns []column) *tableSink {
	s := &tableSink{out: bufio.NewWriter(w)}
	var header []string
	for _, c := range columns {
		if !c.detail {
			s.columns = append(s.columns, c)
			header = append(header, c.header())
		}
	}
	s.layout = newLayout(header)
	return s
}

func (s *tableSink) write(row reflect.Value) error {
	cells := make([]string, len(s.columns))
	for i := range s.columns {
		cells[i] = Printable(s.columns[i].cell(row))
	}
	if s.settled {
		s.layout.write(s.out, cells)
		return nil
	}
	s.waiting = append(s.waiting, cells)
	if len(s.waiting) == fittedRows {
		s.settle()
	}
	return nil
}

func (s *tableSink) settle() {
	s.layout.fit(s.waiting)
	s.layout.writeHeader(s.out)
	for _, cells := range s.waiting {
		s.layout.write(s.out, cells)
	}
	s.waiting, s.settled = nil, true
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
