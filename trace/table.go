package trace

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Table is one table of the dataset: its name and its columns in order.
type Table struct {
	Name    string
	Columns []Column
	row     reflect.Type
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

func newTable[T Row](name string) *Table {
	row := reflect.TypeFor[T]()
	columns, err := columnsOf(row)
	if err == nil {
		columns, err = withOffsets(columns)
	}
	if err != nil {
		panic("trace: table " + name + ": " + err.Error()) // a mistake in a row type's tags
	}
	return &Table{Name: name, Columns: columns, row: row}
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
			column.offset += row.FieldByIndex(field.Index[:depth]).Offset
		}
		columns = append(columns, column)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%v has no columns", row)
	}
	return columns, nil
}
