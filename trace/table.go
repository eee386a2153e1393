package trace

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Table is one table of the dataset: its name and its columns in order.
type Table struct {
	Name    string
	Columns []Column
	rows    AnyRows // without any
	row     reflect.Type
	place   uintptr // of the rows in a Batch, in bytes
}

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// foreignClocks are the columns whose times are other clocks' readings.
var foreignClocks = []string{"source_timestamp", "message_timestamp", "monotonic_timestamp"}

// clockColumns are the columns that lie on the recording's clock, hence tell the time span of a segment.
func (t *Table) clockColumns() []string {
	var names []string
	for i := range t.Columns {
		if c := &t.Columns[i]; strings.HasSuffix(c.Name, "_timestamp") && !slices.Contains(foreignClocks, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// newTable returns the table of a field of Batch.
func newTable(field reflect.StructField) *Table {
	t := &Table{Name: field.Tag.Get("table"), rows: reflect.New(field.Type).Interface().(AnyRows), place: field.Offset}
	t.row = t.rows.rowType()
	columns, err := columnsOf(t.row)
	if err == nil {
		columns, err = withOffsets(columns)
	}
	if err != nil {
		panic("trace: table " + t.Name + ": " + err.Error()) // a mistake in a row type's tags
	}
	t.Columns = columns
	return t
}

// NewRows returns room for as many rows of the table as have that many bytes in memory.
func (t *Table) NewRows(bytes int) AnyRows {
	rows := t.rows.empty()
	rows.reserve(bytes)
	return rows
}

// Read appends the table's rows of a dataset to those in a batch. It reads as Scan does.
func (t *Table) Read(ctx context.Context, d *Dataset, into *Batch) error {
	return into.Of(t).read(ctx, d, t)
}

// columnsOf lists the columns of a struct type; embedded structs are flattened.
func columnsOf(row reflect.Type) ([]Column, error) {
	if row.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v is no struct", row)
	}
	var columns []Column
	for _, field := range reflect.VisibleFields(row) {
		if field.Anonymous || !field.IsExported() {
			continue
		}
		column, err := newColumn(field)
		if err != nil {
			return nil, err
		}
		// A promoted field's offset is relative to its embedded struct.
		for depth := len(field.Index) - 1; depth > 0; depth-- {
			column.place += row.FieldByIndex(field.Index[:depth]).Offset
		}
		columns = append(columns, column)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%v has no columns", row)
	}
	return columns, nil
}
