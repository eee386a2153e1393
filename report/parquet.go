package report

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// groupRows is the number of rows in a row group, which is held in memory until it is complete.
const groupRows = 64 << 10

// parquetSink writes a Parquet file under a temporary name until it is whole.
type parquetSink struct {
	file    *wholefile.File
	out     *parquet.GenericWriter[any]
	columns []column
	values  [][]parquet.Value // of each column, in the row group
	rows    int
	failed  bool
}

// writeBytes is the length of the pieces in which a file is written.
const writeBytes = 1 << 20

// NewParquetWriter returns a Writer of rows to a Parquet file, which appears at path when the Writer is closed and replaces what was
// there. Like a dataset, it is for the user by whose identity it is made, and the user's group. It fails for a type that has no columns,
// and when the file cannot be made.
func NewParquetWriter[T any](path string, as *identity.Identity) (*Writer[T], error) {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	file, err := wholefile.Create(path, 0o640, as)
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return &Writer[T]{sink: &parquetSink{
		file: file, columns: columns, values: make([][]parquet.Value, len(columns)),
		out: parquet.NewGenericWriter[any](file, schemaOf(columns), parquet.Compression(&parquet.Zstd), parquet.WriteBufferSize(writeBytes)),
	}}, nil
}

// WriteParquet writes all rows to a Parquet file.
func WriteParquet[T any](path string, as *identity.Identity, rows []T) error {
	report, err := NewParquetWriter[T](path, as)
	if err != nil {
		return err
	}
	return errors.Join(report.Write(rows), report.Close())
}

// parquetTypes are signed, as those of datasets are: not every reader has unsigned ones.
var parquetTypes = map[reflect.Kind]reflect.Type{
	reflect.Bool:    reflect.TypeFor[bool](),
	reflect.String:  reflect.TypeFor[string](),
	reflect.Int:     reflect.TypeFor[int64](),
	reflect.Int32:   reflect.TypeFor[int32](),
	reflect.Int64:   reflect.TypeFor[int64](),
	reflect.Uint32:  reflect.TypeFor[int64](),
	reflect.Uint64:  reflect.TypeFor[int64](),
	reflect.Float64: reflect.TypeFor[float64](),
}

// schemaOf makes a struct type with the tags of parquet-go, because a parquet.Group would sort the columns by name.
func schemaOf(columns []column) *parquet.Schema {
	fields := make([]reflect.StructField, len(columns))
	for i := range columns {
		c := &columns[i]
		tag := c.name
		if c.nullable() {
			tag += ",optional"
		}
		switch c.value.Kind() {
		case reflect.String:
			tag += ",dict"
		case reflect.Int64, reflect.Int, reflect.Uint64:
			tag += ",delta"
		}
		fields[i] = reflect.StructField{
			Name: fmt.Sprintf("Column%d", i), Type: parquetTypes[c.value.Kind()],
			Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		}
	}
	return parquet.NewSchema("report", parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}

// nullable tells whether values can be absent: an empty string is.
func (c *column) nullable() bool { return c.optional || c.value.Kind() == reflect.String }

func (s *parquetSink) write(row reflect.Value) error {
	for i := range s.columns {
		c := &s.columns[i]
		level := 0
		value, ok := c.of(row)
		cell := parquet.NullValue()
		if ok {
			if c.value.Kind() == reflect.String {
				cell = parquet.ValueOf(strings.ToValidUTF8(value.String(), "\ufffd"))
			} else {
				cell = parquet.ValueOf(value.Convert(parquetTypes[c.value.Kind()]).Interface())
			}
			if c.nullable() {
				level = 1
			}
		}
		s.values[i] = append(s.values[i], cell.Level(0, level, i))
	}
	if s.rows++; s.rows == groupRows {
		return s.flush()
	}
	return nil
}

// flush writes a row group, if there is anything to write.
func (s *parquetSink) flush() error {
	if s.rows == 0 {
		return nil
	}
	for i, w := range s.out.ColumnWriters() {
		if _, err := w.WriteRowValues(s.values[i]); err != nil {
			s.failed = true
			return err
		}
		s.values[i] = s.values[i][:0]
	}
	s.rows = 0
	if err := s.out.Flush(); err != nil {
		s.failed = true
		return err
	}
	return nil
}

func (s *parquetSink) close() error {
	if s.failed {
		return s.discard()
	}
	err := s.flush()
	if err == nil {
		err = s.out.Close()
	}
	if err != nil {
		return errors.Join(err, s.discard())
	}
	return s.file.Commit()
}

func (s *parquetSink) discard() error { return s.file.Discard() }
