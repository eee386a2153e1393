package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// csvSink writes comma-separated values.
type csvSink struct {
	out     *csv.Writer
	columns []column
	cells   []string
	begun   bool // a row was written
	// formulas leaves text that begins like a formula as it is.
	formulas bool
}

func newCSVSink(w io.Writer, columns []column, formulas bool) *csvSink {
	s := &csvSink{out: csv.NewWriter(w), columns: columns, cells: make([]string, len(columns)), formulas: formulas}
	for i, c := range columns {
		s.cells[i] = c.name
	}
	_ = s.out.Write(s.cells) // an error stays in the writer
	return s
}

func (s *csvSink) write(row reflect.Value) error {
	s.begun = true
	for i := range s.columns {
		s.cells[i] = s.columns[i].plain(row)
		if s.columns[i].value.Kind() == reflect.String {
			s.cells[i] = s.textCell(s.cells[i])
		}
	}
	return s.out.Write(s.cells)
}

func (s *csvSink) close() error {
	s.out.Flush()
	return s.out.Error()
}

// textCell is a text without what could steer a terminal that it is shown on, nor the program that it is opened with:
// spreadsheets take what begins with one of these signs for a formula, and run it, unless an apostrophe says that it is
// text.
func (s *csvSink) textCell(text string) string {
	text = Printable(text)
	if s.formulas || text == "" || !strings.ContainsRune("=+-@", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
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

// discard leaves no header where there is no row.
func (s *csvSink) discard() error {
	if !s.begun {
		return nil
	}
	return s.close()
}
