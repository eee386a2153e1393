package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
)

// csvSink writes comma-separated values.
type csvSink struct {
	out     *csv.Writer
	columns []column
	cells   []string
}

func newCSVSink(w io.Writer, columns []column) *csvSink {
	s := &csvSink{out: csv.NewWriter(w), columns: columns, cells: make([]string, len(columns))}
	for i, c := range columns {
		s.cells[i] = c.name
	}
	_ = s.out.Write(s.cells) // an error stays in the writer
	return s
}

func (s *csvSink) write(row reflect.Value) error {
	for i := range s.columns {
		s.cells[i] = s.columns[i].plain(row)
	}
	return s.out.Write(s.cells)
}

func (s *csvSink) close() error {
	s.out.Flush()
	return s.out.Error()
}

// plain is the column's value for programs.
func (c *column) plain(row reflect.Value) string {
	value, ok := c.of(row)
	if !ok {
		return ""
	}
	if value.Kind() == reflect.Float64 {
		return strconv.FormatFloat(value.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(value.Interface())
}

func (s *csvSink) discard() error { return s.close() }
