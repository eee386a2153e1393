package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/parquet-go/parquet-go"
)

var (
	// ErrTruncated marks a file that lacks its end: a copy that was cut short.
	ErrTruncated = errors.New("file is truncated")
	// ErrCorrupt marks a file whose content contradicts itself.
	ErrCorrupt = errors.New("file is corrupt")
)

const (
	magic = "PAR1"
	// parquetFrame is the least size of a Parquet file: the magic at both ends and the length of the footer.
	parquetFrame = 4 + tailSize
	// tailSize is that of the footer's length and the magic behind it.
	tailSize = 4 + 4
)

// Open reads the footer of a Parquet file and checks what can be checked without reading pages.
func Open(r io.ReaderAt, size int64) (_ *File, err error) {
	defer ContainPanic(&err)
	e, err := readEnds(r, size)
	if err != nil {
		return nil, err
	}
	if err := checkFooter(e.last[:len(e.last)-tailSize]); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(e, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, Corrupt(err)
	}
	return fileOf(f, e.footer)
}

// readEnds tells a truncated file from a corrupt one, and bounds the footer before it is loaded.
func readEnds(r io.ReaderAt, size int64) (*ends, error) {
	if size < parquetFrame {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrTruncated, size)
	}
	var head [len(magic)]byte
	if err := readAt(r, head[:], 0); err != nil {
		return nil, err
	}
	var tail [tailSize]byte
	if err := readAt(r, tail[:], size-tailSize); err != nil {
		return nil, err
	}
	if string(head[:]) != magic {
		return nil, fmt.Errorf("%w: it does not begin as a Parquet file", ErrCorrupt)
	}
	if string(tail[4:]) != magic {
		return nil, fmt.Errorf("%w: its footer is missing", ErrTruncated)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:4]))
	if length > min(size-parquetFrame, footerLimit) {
		return nil, fmt.Errorf("%w: its footer claims %d bytes", ErrCorrupt, length)
	}
	begin := size - tailSize - length
	last := make([]byte, length, length+tailSize)
	if err := readAt(r, last, begin); err != nil {
		return nil, err
	}
	return &ends{footer: begin, last: append(last, tail[:]...)}, nil
}

func readAt(r io.ReaderAt, b []byte, offset int64) error {
	if n, err := r.ReadAt(b, offset); n < len(b) {
		return Corrupt(err)
	}
	return nil
}

// checkMetadata checks what the Parquet library and readers take for granted.
func checkMetadata(f *parquet.File) error {
	columns := len(f.Schema().Columns())
	if elements := len(f.Metadata().Schema); elements != columns+1 {
		return fmt.Errorf("%w: its %d columns are nested", ErrCorrupt, columns)
	}
	var rows int64
	for i, group := range f.Metadata().RowGroups {
		if group.NumRows < 0 || len(group.Columns) != columns {
			return fmt.Errorf("%w: row group %d does not fit the schema", ErrCorrupt, i)
		}
		rows += group.NumRows
	}
	if rows != f.NumRows() {
		return fmt.Errorf("%w: its row groups have %d rows, its footer says %d", ErrCorrupt, rows, f.NumRows())
	}
	return nil
}

// Corrupt marks an error of the Parquet library as one of the file's content, unless it comes from the file system.
func Corrupt(err error) error {
	var system *fs.PathError
	if errors.As(err, &system) || errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// ContainPanic turns a panic, with which the Parquet library answers some contents, into an error.
func ContainPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrCorrupt, p)
	}
}
