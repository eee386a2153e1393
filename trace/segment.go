package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// SegmentError is what is wrong with one segment. It wraps ErrTruncatedSegment, ErrCorruptSegment, ErrLeased,
// ErrTooManyEntities or the error of the system.
type SegmentError struct {
	Path string
	Err  error
}

// Error names the file, the cause and the remedy.
func (e *SegmentError) Error() string {
	remedy := "copy it again from where it was recorded, or remove it to read the rest without this warning"
	switch {
	case errors.Is(e.Err, fs.ErrPermission):
		remedy = "read it as its owner, or change its owner"
	case errors.Is(e.Err, ErrLeased):
		remedy = "end that program (lslocks names it), or read a copy of the dataset"
	case errors.Is(e.Err, ErrTooManyEntities):
		remedy = "its others are left out; record for a shorter time"
	}
	return fmt.Sprintf("segment %s: %v: %s", e.Path, e.Err, remedy)
}

// Unwrap returns the cause.
func (e *SegmentError) Unwrap() error { return e.Err }

// DamageError lists the segments that could not be read, or not to their end. Everything else was read: what came with
// a DamageError is all that can be had, and short of what the listed segments held.
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

// openSegmentAgain is openSegment for one that may have been opened before: its footer is not read again unless the
// file is another one.
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
		parsed, err := columnar.Open(f, info.Size())
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
