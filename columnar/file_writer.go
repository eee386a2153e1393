package columnar

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// PageRows is the number of rows from which on a page ends.
	PageRows = 16 << 10

	// formatVersion is that of Parquet files with data pages of the version 2.
	formatVersion = 2
	createdBy     = "caret-bpf"
)

// FileWriter writes one Parquet file after another. What it needs for a file's columns it keeps for the next.
type FileWriter struct {
	schema   []format.SchemaElement
	orders   []format.ColumnOrder
	metadata []format.KeyValue
	columns  []Column
	chunks   []chunk

	out        io.Writer
	offset     int64
	rowGroups  []format.RowGroup
	rowsInPage int
	rows       int64 // of the row group
}

// NewFileWriter returns a FileWriter of files that have a name for their rows, these columns, and pairs of a key and a
// value in their footer.
func NewFileWriter(name string, columns []Column, compressors *Compressors, metadata ...[2]string) *FileWriter {
	f := &FileWriter{columns: columns}
	f.schema = append(f.schema, format.SchemaElement{Name: name, NumChildren: thrift.New(int32(len(columns)))})
	for i := range columns {
		f.schema = append(f.schema, columns[i].schemaElement())
		f.orders = append(f.orders, format.ColumnOrder{Value: new(format.TypeDefinedOrder)})
		f.chunks = append(f.chunks, newChunk(&columns[i], compressors.of(&columns[i])))
	}
	for _, pair := range metadata {
		f.metadata = append(f.metadata, format.KeyValue{Key: pair[0], Value: pair[1]})
	}
	return f
}

// ColumnOf returns the writer of a column, whose values are of type V.
func ColumnOf[V Value](f *FileWriter, column int) *ColumnWriter[V] {
	return f.chunks[column].(*ColumnWriter[V])
}

// Begin starts a file.
func (f *FileWriter) Begin(out io.Writer) error {
	f.out, f.offset, f.rows, f.rowsInPage = out, 0, 0, 0
	f.rowGroups = f.rowGroups[:0]
	return f.write([]byte(magic))
}

// EndRows tells that the values of that many rows were added to every column.
func (f *FileWriter) EndRows(rows int) error {
	f.rows += int64(rows)
	f.rowsInPage += rows
	if f.rowsInPage < PageRows {
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

// Size is the number of bytes so far, without the page that is being made.
func (f *FileWriter) Size() int64 {
	size := f.offset
	for _, c := range f.chunks {
		size += int64(c.size())
	}
	return size
}

// EndGroup writes the row group.
func (f *FileWriter) EndGroup() error {
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

// End writes the last row group and the footer.
func (f *FileWriter) End() error {
	if err := f.EndGroup(); err != nil {
		return err
	}
	footer := format.FileMetaData{
		Version: formatVersion, Schema: f.schema, RowGroups: f.rowGroups, CreatedBy: createdBy, ColumnOrders: f.orders,
		KeyValueMetadata: f.metadata,
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

func (f *FileWriter) write(part []byte) error {
	n, err := f.out.Write(part)
	f.offset += int64(n)
	return err
}
