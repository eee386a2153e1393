package report

import (
	"bufio"
	"errors"
	"fmt"
	"reflect"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// groupRows is the number of rows in a row group, which is held in memory until it is complete.
const groupRows = 64 << 10

// parquetSink writes a Parquet file under a temporary name until it is whole.
type parquetSink struct {
	file    *wholefile.File
	out     *bufio.Writer
	parquet *columnar.FileWriter
	columns []column
	cells   []cellWriter
	rows    int // in the row group
	failed  bool
}

// writeBytes is the length of the pieces in which a file is written.
const writeBytes = 1 << 20

// NewParquetWriter returns a Writer of rows to a Parquet file, which appears at path when the Writer is closed and
// replaces what was there. Like a dataset, it is for the user by whose identity it is made, and the user's group. It
// fails for a type that has no columns, and when the file cannot be made.
func NewParquetWriter[T any](path string, as *identity.Identity) (*Writer[T], error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	file, err := wholefile.Create(path, 0o640, as)
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	sink := newParquetSink(file, columns)
	if err := sink.parquet.Begin(sink.out); err != nil {
		return nil, errors.Join(fmt.Errorf("write report: %w", err), file.Discard())
	}
	return &Writer[T]{sink: sink}, nil
}

func newParquetSink(file *wholefile.File, columns []column) *parquetSink {
	stored := make([]columnar.Column, len(columns))
	for i := range columns {
		stored[i] = columns[i].stored()
	}
	s := &parquetSink{
		file: file, out: bufio.NewWriterSize(file, writeBytes), columns: columns,
		parquet: columnar.NewFileWriter("report", stored, columnar.NewCompressors()),
	}
	for i := range columns {
		s.cells = append(s.cells, newCellWriter(s.parquet, i, stored[i].Type))
	}
	return s
}

// WriteParquet writes all rows to a Parquet file.
func WriteParquet[T any](path string, as *identity.Identity, rows []T) error {
	report, err := NewParquetWriter[T](path, as)
	if err != nil {
		return err
	}
	return errors.Join(report.Write(rows), report.Close())
}

// stored is how Parquet has the column. Numbers are signed, as those of datasets are: not every reader has unsigned
// ones.
func (c *column) stored() columnar.Column {
	stored := columnar.Column{Name: c.name, Nullable: c.nullable(), Encoding: columnar.EncodingDictionary}
	switch c.value.Kind() {
	case reflect.Bool:
		stored.Type, stored.Encoding = columnar.TypeBool, columnar.EncodingPlain
	case reflect.String:
		stored.Type = columnar.TypeString
	case reflect.Float64:
		stored.Type, stored.Encoding = columnar.TypeDouble, columnar.EncodingPlain
	case reflect.Int32:
		stored.Type = columnar.TypeInt32
	default:
		stored.Type, stored.Encoding = columnar.TypeInt64, columnar.EncodingDelta
	}
	return stored
}

// cellWriter adds the value of one row to a column. ok is false where it is absent.
type cellWriter func(value reflect.Value, ok bool)

func newCellWriter(file *columnar.FileWriter, index int, of columnar.Type) cellWriter {
	switch of {
	case columnar.TypeBool:
		return cellWriterOf(columnar.ColumnOf[bool](file, index), reflect.Value.Bool)
	case columnar.TypeString:
		return cellWriterOf(columnar.ColumnOf[string](file, index), reflect.Value.String)
	case columnar.TypeDouble:
		return cellWriterOf(columnar.ColumnOf[float64](file, index), reflect.Value.Float)
	case columnar.TypeInt32:
		return cellWriterOf(columnar.ColumnOf[int32](file, index), func(v reflect.Value) int32 { return int32(v.Int()) })
	}
	return cellWriterOf(columnar.ColumnOf[int64](file, index), func(v reflect.Value) int64 {
		if v.CanUint() {
			return int64(v.Uint())
		}
		return v.Int()
	})
}

func cellWriterOf[V columnar.Value](out *columnar.ColumnWriter[V], get func(reflect.Value) V) cellWriter {
	return func(value reflect.Value, ok bool) {
		out.Add(1, func(values []V, levels []byte) ([]V, []byte) {
			if !ok {
				return values, append(levels, 0)
			}
			return append(values, get(value)), append(levels, 1)
		})
	}
}

// nullable tells whether values can be absent: an empty string is.
func (c *column) nullable() bool { return c.optional || c.value.Kind() == reflect.String }

func (s *parquetSink) write(row reflect.Value) error {
	for i := range s.columns {
		s.cells[i](s.columns[i].of(row))
	}
	err := s.parquet.EndRows(1)
	if s.rows++; err == nil && s.rows == groupRows {
		s.rows = 0
		err = s.parquet.EndGroup()
	}
	s.failed = s.failed || err != nil
	return err
}

func (s *parquetSink) close() error {
	if s.failed {
		return s.discard()
	}
	if err := errors.Join(s.parquet.End(), s.out.Flush()); err != nil {
		return errors.Join(err, s.discard())
	}
	return s.file.Commit()
}

func (s *parquetSink) discard() error { return s.file.Discard() }
