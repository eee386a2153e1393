package trace

import (
	"reflect"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// ColumnsOf returns the columns that the tags of a struct type state, as those of the tables' row types do: for files
// of rows that are no table of a dataset. It panics where a tag is wrong.
func ColumnsOf[T any]() []Column {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		panic("trace: " + err.Error()) // a mistake in a row type's tags
	}
	return columns
}

// Stored returns how a file has the columns.
func Stored(columns []Column) []columnar.Column {
	stored := make([]columnar.Column, len(columns))
	for i := range columns {
		c := &columns[i]
		stored[i] = columnar.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Encoding: c.Encoding}
	}
	return stored
}

// NewRowAdder returns a function that takes the values of columns out of rows and adds them to those of a file, of
// which the first one has that index. The columns must be of the rows' type. The file is not told that the rows ended.
func NewRowAdder(columns []Column, file *columnar.FileWriter, first int) func(AnyRows) {
	writers := make([]columnWriter, len(columns))
	for i := range columns {
		writers[i] = newColumnWriter(&columns[i], file, first+i)
	}
	return func(rows AnyRows) {
		for _, add := range writers {
			add(rows)
		}
	}
}
