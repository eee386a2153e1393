package report

import (
	"fmt"
	"io"
	"reflect"
)

// Format is the form of a report on a stream.
type Format string

// The formats.
const (
	// Table is aligned columns, for people, as wide as they need. NewTableWriter writes one that fits a terminal.
	Table Format = "table"
	// JSON is an array with an object a row, each on its line.
	JSON Format = "json"
	// CSV is RFC 4180 with a line of names. An apostrophe precedes text that a spreadsheet would take for a formula.
	CSV Format = "csv"
	// CSVWithFormulas is CSV without such apostrophes.
	CSVWithFormulas Format = "csv with formulas"
)

// sink writes rows in one form.
type sink interface {
	write(row reflect.Value) error
	close() error
	// discard ends a report that is not whole.
	discard() error
}

// Writer writes rows of type T as they come. It is not safe for concurrent use.
type Writer[T any] struct {
	sink sink
}

// NewWriter returns a Writer of rows to w. It fails for a type that has no columns, or an unknown format. Close must be
// called: it writes what waits.
func NewWriter[T any](w io.Writer, format Format) (*Writer[T], error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	switch format {
	case Table:
		return &Writer[T]{sink: newTableSink(w, new(Screen), columns)}, nil
	case JSON:
		return &Writer[T]{sink: newJSONSink(w, columns)}, nil
	case CSV, CSVWithFormulas:
		return &Writer[T]{sink: newCSVSink(w, columns, format == CSVWithFormulas)}, nil
	}
	return nil, fmt.Errorf("report: unknown format %q", format)
}

// NewTableWriter returns a Writer of rows to w, as a table that fits a screen. Otherwise it is NewWriter.
func NewTableWriter[T any](w io.Writer, screen *Screen) (*Writer[T], error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return &Writer[T]{sink: newTableSink(w, screen, columns)}, nil
}

// Write appends rows.
func (w *Writer[T]) Write(rows []T) error {
	for i := range rows {
		if err := w.sink.write(reflect.ValueOf(&rows[i]).Elem()); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	return nil
}

// Close ends the report.
func (w *Writer[T]) Close() error {
	if err := w.sink.close(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Discard ends a report that is not whole: a Parquet file is not made, a stream is left as it is.
func (w *Writer[T]) Discard() error {
	if err := w.sink.discard(); err != nil {
		return fmt.Errorf("discard report: %w", err)
	}
	return nil
}

// Write writes all rows to w.
func Write[T any](w io.Writer, format Format, rows []T) error {
	report, err := NewWriter[T](w, format)
	if err != nil {
		return err
	}
	if err := report.Write(rows); err != nil {
		return err
	}
	return report.Close()
}
