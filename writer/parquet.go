package writer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// pageRows is the number of rows of a page.
	pageRows = 16 << 10

	magic = "PAR1"
	// formatVersion is that of Parquet files with data pages of the version 2.
	formatVersion = 2
	createdBy     = "caret-bpf"
)

// parquetFile writes one Parquet file after another. What it needs for a file's columns it keeps for the next.
type parquetFile[T trace.Row] struct {
	schema []format.SchemaElement
	orders []format.ColumnOrder
	table  string
	chunks []chunk[T]

	out        io.Writer
	offset     int64
	rowGroups  []format.RowGroup
	rowsInPage int
	rows       int64 // of the row group
}

func newParquetFile[T trace.Row](table *trace.Table, compressors *compressors) *parquetFile[T] {
	f := &parquetFile[T]{table: table.Name}
	root := table.Schema()
	f.schema = append(f.schema, format.SchemaElement{Name: root.Name(), NumChildren: thrift.New(int32(len(root.Fields())))})
	for i, field := range root.Fields() {
		f.schema = append(f.schema, schemaElement(field))
		f.orders = append(f.orders, *field.Type().ColumnOrder())
		f.chunks = append(f.chunks, newChunk[T](&table.Columns[i], physicalType(field), compressors.of(&table.Columns[i])))
	}
	return f
}

func schemaElement(field parquet.Field) format.SchemaElement {
	element := format.SchemaElement{
		Name: field.Name(), RepetitionType: thrift.New(format.Required), Type: thrift.New(physicalType(field)),
	}
	if field.Optional() {
		element.RepetitionType = thrift.New(format.Optional)
	}
	if logical := field.Type().LogicalType(); logical != nil {
		element.LogicalType = *logical
	}
	if converted := field.Type().ConvertedType(); converted != nil {
		element.ConvertedType = thrift.New(*converted)
	}
	return element
}

// begin starts a file.
func (f *parquetFile[T]) begin(out io.Writer) error {
	f.out, f.offset, f.rows, f.rowsInPage = out, 0, 0, 0
	f.rowGroups = f.rowGroups[:0]
	return f.write([]byte(magic))
}

// add adds rows to the row group.
func (f *parquetFile[T]) add(rows []T) error {
	for _, c := range f.chunks {
		c.add(rows)
	}
	f.rows += int64(len(rows))
	f.rowsInPage += len(rows)
	if f.rowsInPage < pageRows {
		return nil
	}
	f.rowsInPage = 0
	for _, c := range f.chunks {
		if err := c.endPage(); err != nil {
			return err
		}
	}
	return nil
}

// size is the number of bytes so far, without the page that is being made.
func (f *parquetFile[T]) size() int64 {
	size := f.offset
	for _, c := range f.chunks {
		size += int64(c.size())
	}
	return size
}

// endGroup writes the row group.
func (f *parquetFile[T]) endGroup() error {
	if f.rows == 0 {
		return nil
	}
	group := format.RowGroup{NumRows: f.rows, FileOffset: f.offset, Ordinal: int16(len(f.rowGroups))}
	for _, c := range f.chunks {
		column, err := c.writeTo(f.out, f.offset)
		if err != nil {
			return err
		}
		f.offset += column.MetaData.TotalCompressedSize
		group.TotalByteSize += column.MetaData.TotalUncompressedSize
		group.TotalCompressedSize += column.MetaData.TotalCompressedSize
		group.Columns = append(group.Columns, column)
	}
	f.rowGroups = append(f.rowGroups, group)
	f.rows, f.rowsInPage = 0, 0
	return nil
}

// end writes the last row group and the footer.
func (f *parquetFile[T]) end() error {
	if err := f.endGroup(); err != nil {
		return err
	}
	footer := format.FileMetaData{
		Version: formatVersion, Schema: f.schema, RowGroups: f.rowGroups, CreatedBy: createdBy, ColumnOrders: f.orders,
		KeyValueMetadata: []format.KeyValue{
			{Key: "caret-bpf.format_version", Value: strconv.Itoa(trace.FormatVersion)},
			{Key: "caret-bpf.table", Value: f.table},
		},
	}
	for i := range f.rowGroups {
		footer.NumRows += f.rowGroups[i].NumRows
	}
	var text bytes.Buffer
	if err := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&text)).Encode(&footer); err != nil {
		return fmt.Errorf("encode footer: %w", err)
	}
	length := uint32(text.Len())
	return f.write(append(binary.LittleEndian.AppendUint32(text.Bytes(), length), magic...))
}

func (f *parquetFile[T]) write(part []byte) error {
	n, err := f.out.Write(part)
	f.offset += int64(n)
	return err
}
