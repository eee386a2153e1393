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
	parquetFrame = 4 + 4 + 4
	// footerLimit bounds the footer that is loaded. One that a FileWriter wrote has one of some kilobytes.
	footerLimit = 64 << 20
)

// Open reads the footer of a Parquet file and checks what can be checked without reading pages.
func Open(r io.ReaderAt, size int64) (_ *parquet.File, err error) {
	defer ContainPanic(&err)
	if err := checkFrame(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, Corrupt(err)
	}
	return f, checkMetadata(f)
}

// checkFrame tells a truncated file from a corrupt one, and bounds the footer before it is loaded.
func checkFrame(r io.ReaderAt, size int64) error {
	if size < parquetFrame {
		return fmt.Errorf("%w: it has %d bytes", ErrTruncated, size)
	}
	var head [4]byte
	var tail [8]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return Corrupt(err)
	}
	if _, err := r.ReadAt(tail[:], size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return Corrupt(err)
	}
	if string(head[:]) != magic {
		return fmt.Errorf("%w: it does not begin as a Parquet file", ErrCorrupt)
	}
	if string(tail[4:]) != magic {
		return fmt.Errorf("%w: its footer is missing", ErrTruncated)
	}
	if footer := int64(binary.LittleEndian.Uint32(tail[:4])); footer > min(size-parquetFrame, footerLimit) {
		return fmt.Errorf("%w: its footer claims %d bytes", ErrCorrupt, footer)
	}
	return nil
}

// checkMetadata checks what the Parquet library and readers take for granted.
func checkMetadata(f *parquet.File) error {
	columns := len(f.Schema().Columns())
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
