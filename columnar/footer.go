package columnar

import (
	"fmt"
	"io"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// footerLimit bounds the footer that is loaded. One that a FileWriter wrote has one of some kilobytes.
	footerLimit = 64 << 20
	// footerMemory bounds what the Parquet library makes of a footer in memory, and footerGrowth how many times the
	// footer's bytes that may be, because a dataset can have many. It is 11 times of what a FileWriter wrote, and up to 15
	// times of what pyarrow, Polars and DuckDB do, also with one row a group. Without these bounds it would be 640 times.
	footerMemory = 256 << 20
	footerGrowth = 32
	// elementLimit bounds the columns of a file, with their root. What the library makes of columns inside each other
	// grows with the square of their number, and only then can they be seen to be so.
	elementLimit = 1024
)

// What the Parquet library makes of an element of a footer's list, in bytes. Of lists that are not named here none has
// an element that takes more than a pair of a key and a value, and that is what is counted of each.
const (
	schemaBytes = int(unsafe.Sizeof(format.SchemaElement{}) + unsafe.Sizeof(parquet.Column{}))
	groupBytes  = int(unsafe.Sizeof(format.RowGroup{}) + unsafe.Sizeof(parquet.FileRowGroup{}))
	chunkBytes  = int(unsafe.Sizeof(format.ColumnChunk{}) + unsafe.Sizeof(parquet.FileColumnChunk{}))
	otherBytes  = int(unsafe.Sizeof(format.KeyValue{}))
)

// The fields of format.FileMetaData, and of the row groups in it, that those lists are in.
var (
	schemaPath = []int16{2}
	groupPath  = []int16{4}
	chunkPath  = []int16{4, 1}
)

// checkFooter refuses a footer of which the Parquet library would make more than it may.
func checkFooter(footer []byte) error {
	var schema, groups, chunks, others int
	_, err := checkThrift(footer, func(path []int16, elements int) {
		switch {
		case slices.Equal(path, schemaPath):
			schema += elements
		case slices.Equal(path, groupPath):
			groups += elements
		case slices.Equal(path, chunkPath):
			chunks += elements
		default:
			others += elements
		}
	})
	if err != nil {
		return err
	}
	if schema > elementLimit {
		return fmt.Errorf("%w: its footer lists %d columns", ErrCorrupt, schema)
	}
	// Not even pointers are made for columns that row groups do not have.
	if columns := schema - 1; groups > 0 && chunks/groups < columns {
		return fmt.Errorf("%w: %d row groups have %d chunks of %d columns", ErrCorrupt, groups, chunks, columns)
	}
	memory := schema*schemaBytes + groups*groupBytes + chunks*chunkBytes + others*otherBytes
	if memory > min(footerMemory, footerGrowth*len(footer)) {
		return fmt.Errorf("%w: its footer takes %d bytes in memory, of %d in the file", ErrCorrupt, memory, len(footer))
	}
	return nil
}

// ends are the magic bytes at the beginning of a file and all from the footer on: what the Parquet library reads when
// it opens one. It reads what was checked, whatever becomes of the file meanwhile.
type ends struct {
	footer int64 // where it begins
	last   []byte
}

// ReadAt implements io.ReaderAt.
func (e *ends) ReadAt(b []byte, offset int64) (n int, err error) {
	switch {
	case offset == 0:
		n = copy(b, magic)
	case offset >= e.footer && offset <= e.footer+int64(len(e.last)):
		n = copy(b, e.last[offset-e.footer:])
	}
	if n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}
