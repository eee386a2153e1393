package trace

import (
	"io"
	"strconv"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// SegmentWriter writes one segment of a table after another.
type SegmentWriter struct {
	table *Table
	file  *columnar.FileWriter
	add   func(AnyRows)
}

// columnWriter takes the values of a column out of rows.
type columnWriter func(rows AnyRows)

func columnWriterOf[V columnar.Value](c *Column, file *columnar.FileWriter, index int) columnWriter {
	out := columnar.ColumnOf[V](file, index)
	return func(rows AnyRows) {
		out.Add(rows.Len(), func(values []V, levels []byte) ([]V, []byte) { return Cells(c, rows, values, levels) })
	}
}

// NewSegmentWriter returns a SegmentWriter of a table.
func NewSegmentWriter(table *Table, compressors *columnar.Compressors) *SegmentWriter {
	file := columnar.NewFileWriter(table.Name, Stored(table.Columns), compressors,
		[2]string{"caret-bpf.format_version", strconv.Itoa(FormatVersion)}, [2]string{"caret-bpf.table", table.Name})
	return &SegmentWriter{table: table, file: file, add: NewRowAdder(table.Columns, file, 0)}
}

func newColumnWriter(c *Column, file *columnar.FileWriter, index int) columnWriter {
	switch c.Type {
	case TypeBool:
		return columnWriterOf[bool](c, file, index)
	case TypeInt32:
		return columnWriterOf[int32](c, file, index)
	case TypeInt64:
		return columnWriterOf[int64](c, file, index)
	}
	return columnWriterOf[string](c, file, index)
}

// Begin starts a segment.
func (w *SegmentWriter) Begin(out io.Writer) error { return w.file.Begin(out) }

// Add adds rows to the row group. They must be of the table.
func (w *SegmentWriter) Add(rows AnyRows) error {
	if row := rows.rowType(); row != w.table.row {
		panic("trace: " + row.String() + " is no row of table " + w.table.Name)
	}
	w.add(rows)
	return w.file.EndRows(rows.Len())
}

// EndGroup writes the row group.
func (w *SegmentWriter) EndGroup() error { return w.file.EndGroup() }

// Size is the number of bytes so far, without the page that is being made.
func (w *SegmentWriter) Size() int64 { return w.file.Size() }

// End writes the last row group and the footer.
func (w *SegmentWriter) End() error { return w.file.End() }
