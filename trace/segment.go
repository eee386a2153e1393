package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// SegmentError is what is wrong with one segment. It wraps ErrTruncatedSegment, ErrCorruptSegment or the error of the system.
type SegmentError struct {
	Path string
	Err  error
}

// Error names the file, the cause and the remedy.
func (e *SegmentError) Error() string {
	remedy := "copy it again from where it was recorded, or remove it to read the rest without this warning"
	if errors.Is(e.Err, fs.ErrPermission) {
		remedy = "read it as its owner, or change its owner"
	}
	return fmt.Sprintf("segment %s: %v: %s", e.Path, e.Err, remedy)
}

// Unwrap returns the cause.
func (e *SegmentError) Unwrap() error { return e.Err }

// DamageError lists the segments that could not be read, or not to their end. Everything else was read: what came with a
// DamageError is all that can be had, and short of what the listed segments held.
type DamageError struct {
	Segments []*SegmentError
}

// Error joins the errors of the segments.
func (e *DamageError) Error() string {
	lines := make([]string, len(e.Segments))
	for i, s := range e.Segments {
		lines[i] = s.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors of the segments.
func (e *DamageError) Unwrap() []error {
	errs := make([]error, len(e.Segments))
	for i, s := range e.Segments {
		errs[i] = s
	}
	return errs
}

// damage collects the errors of segments.
type damage struct {
	segments []*SegmentError
}

func (d *damage) add(err *SegmentError) {
	d.segments = append(d.segments, err)
}

func (d *damage) err() error {
	if len(d.segments) == 0 {
		return nil
	}
	return &DamageError{Segments: d.segments}
}

const (
	parquetMagic = "PAR1"
	// parquetFrame is the least size of a Parquet file: the magic at both ends and the length of the footer.
	parquetFrame = 4 + 4 + 4
	// footerLimit bounds the footer that is loaded. A segment of the writer has one of some kilobytes.
	footerLimit = 64 << 20
)

// segmentFile is an opened segment.
type segmentFile struct {
	*parquet.File
	file *os.File
	info fs.FileInfo
}

func (s *segmentFile) Close() error { return s.file.Close() }

// ReadAt implements io.ReaderAt, also for a segment that was opened again.
func (s *segmentFile) ReadAt(b []byte, offset int64) (int, error) { return s.file.ReadAt(b, offset) }

// openSegment opens a segment and checks what can be checked without reading pages.
func (as As) openSegment(path string) (*segmentFile, *SegmentError) {
	return as.openSegmentAgain(path, nil)
}

// openSegmentAgain is openSegment for one that may have been opened before: its footer is not read again unless the file is another one.
func (as As) openSegmentAgain(path string, former *segmentFile) (_ *segmentFile, segmentError *SegmentError) {
	fail := func(err error) (*segmentFile, *SegmentError) {
		return nil, &SegmentError{Path: path, Err: err}
	}
	f, info, err := as.openRegular(path)
	if errors.Is(err, errNotRegular) {
		return fail(fmt.Errorf("%w: %w", ErrCorruptSegment, err))
	}
	if err != nil {
		return fail(err)
	}
	opened := false
	defer func() {
		if !opened {
			_ = f.Close()
		}
	}()
	if former == nil || !sameContent(former.info, info) {
		parsed, err := parseSegment(f, info.Size())
		if err != nil {
			return fail(err)
		}
		former = &segmentFile{File: parsed}
	}
	opened = true
	return &segmentFile{File: former.File, file: f, info: info}, nil
}

// sameContent tells whether a file is the one that it was, as far as the file system tells.
func sameContent(before, now fs.FileInfo) bool {
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// parseSegment reads the footer of a Parquet file.
func parseSegment(r io.ReaderAt, size int64) (_ *parquet.File, err error) {
	defer containPanic(&err)
	if err := checkFrame(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, corrupt(err)
	}
	return f, checkMetadata(f)
}

// checkFrame tells a truncated file from a corrupt one, and bounds the footer before it is loaded.
func checkFrame(r io.ReaderAt, size int64) error {
	if size < parquetFrame {
		return fmt.Errorf("%w: it has %d bytes", ErrTruncatedSegment, size)
	}
	var head [4]byte
	var tail [8]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return corrupt(err)
	}
	if _, err := r.ReadAt(tail[:], size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return corrupt(err)
	}
	if string(head[:]) != parquetMagic {
		return fmt.Errorf("%w: it does not begin as a Parquet file", ErrCorruptSegment)
	}
	if string(tail[4:]) != parquetMagic {
		return fmt.Errorf("%w: its footer is missing", ErrTruncatedSegment)
	}
	if footer := int64(binary.LittleEndian.Uint32(tail[:4])); footer > min(size-parquetFrame, footerLimit) {
		return fmt.Errorf("%w: its footer claims %d bytes", ErrCorruptSegment, footer)
	}
	return nil
}

// checkMetadata checks what the Parquet library and Scan take for granted.
func checkMetadata(f *parquet.File) error {
	columns := len(f.Schema().Columns())
	var rows int64
	for i, group := range f.Metadata().RowGroups {
		if group.NumRows < 0 || len(group.Columns) != columns {
			return fmt.Errorf("%w: row group %d does not fit the schema", ErrCorruptSegment, i)
		}
		rows += group.NumRows
	}
	if rows != f.NumRows() {
		return fmt.Errorf("%w: its row groups have %d rows, its footer says %d", ErrCorruptSegment, rows, f.NumRows())
	}
	return nil
}

// corrupt marks an error of the Parquet library as one of the segment's content, unless it comes from the file system.
func corrupt(err error) error {
	var system *fs.PathError
	if errors.As(err, &system) || errors.Is(err, ErrCorruptSegment) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorruptSegment, err)
}

// containPanic turns a panic, with which the Parquet library answers some contents, into an error.
func containPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrCorruptSegment, p)
	}
}
