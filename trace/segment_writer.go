package trace

import (
	"io"
	"strconv"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// SegmentWriter writes one segment of a table after another.
type SegmentWriter[T Row] struct {
	file    *columnar.FileWriter
	columns []columnWriter[T]
}

// columnWriter takes the values of a column out of rows.
type columnWriter[T Row] func(rows []T)

func columnWriterOf[T Row, V columnar.Value](c *Column, file *columnar.FileWriter, index int) columnWriter[T] {
	out := columnar.ColumnOf[V](file, index)
	return func(rows []T) {
		out.Add(len(rows), func(values []V, levels []byte) ([]V, []byte) { return Cells(c, rows, values, levels) })
	}
}

// NewSegmentWriter returns a SegmentWriter of the table whose row type is T.
func NewSegmentWriter[T Row](compressors *columnar.Compressors) *SegmentWriter[T] {
	table := TableOf[T]()
	columns := make([]columnar.Column, len(table.Columns))
	for i := range columns {
		c := &table.Columns[i]
		columns[i] = columnar.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Encoding: c.Encoding}
	}
	w := &SegmentWriter[T]{file: columnar.NewFileWriter(table.Name, columns, compressors,
		[2]string{"caret-bpf.format_version", strconv.Itoa(FormatVersion)}, [2]string{"caret-bpf.table", table.Name})}
	for i := range columns {
		w.columns = append(w.columns, newColumnWriter[T](&table.Columns[i], w.file, i))
	}
	return w
}

func newColumnWriter[T Row](c *Column, file *columnar.FileWriter, index int) columnWriter[T] {
	switch c.Type {
	case TypeBool:
		return columnWriterOf[T, bool](c, file, index)
	case TypeInt32:
		return columnWriterOf[T, int32](c, file, index)
	case TypeInt64:
		return columnWriterOf[T, int64](c, file, index)
	}
	return columnWriterOf[T, string](c, file, index)
}

// Begin starts a segment.
func (w *SegmentWriter[T]) Begin(out io.Writer) error { return w.file.Begin(out) }

// Add adds rows to the row group.
func (w *SegmentWriter[T]) Add(rows []T) error {
	for _, c := range w.columns {
		c(rows)
	}
	return w.file.EndRows(len(rows))
}

// EndGroup writes the row group.
func (w *SegmentWriter[T]) EndGroup() error { return w.file.EndGroup() }

// Size is the number of bytes so far, without the page that is being made.
func (w *SegmentWriter[T]) Size() int64 { return w.file.Size() }

// End writes the last row group and the footer.
func (w *SegmentWriter[T]) End() error { return w.file.End() }
