package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// SegmentError is what is wrong with one segment. It wraps ErrTruncatedSegment, ErrCorruptSegment, ErrLeased,
// ErrTooManyEntities, ErrTooManyGroups or the error of the system.
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
	case errors.Is(e.Err, ErrTooManyGroups):
		remedy = "it and the later ones of its table are left out; ask of a dataset that has a part of the segments, or record for a shorter time"
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
	*columnar.File
	file    *os.File
	version fileVersion
}

func (s *segmentFile) Close() error { return s.file.Close() }

// ReadAt implements io.ReaderAt.
func (s *segmentFile) ReadAt(b []byte, offset int64) (int, error) { return s.file.ReadAt(b, offset) }

// openSegment opens a segment and checks what can be checked without reading pages.
func (as As) openSegment(path string) (*segmentFile, *SegmentError) {
	return as.openSegmentAgain(path, nil, fileVersion{})
}

// openSegmentAgain is openSegment for one of which something may be known: its footer is read only if the file is
// another one than the one that this was read from.
func (as As) openSegmentAgain(path string, known *columnar.File, from fileVersion) (_ *segmentFile, segmentError *SegmentError) {
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
	version := versionOf(info)
	if known == nil || version != from {
		if known, err = columnar.Open(f, info.Size()); err != nil {
			return fail(err)
		}
	}
	opened = true
	return &segmentFile{File: known, file: f, version: version}, nil
}

// fileVersion differs where a file is not the one that it was, as far as the file system tells.
type fileVersion struct {
	device, inode uint64
	size          int64
	modified      int64
}

func versionOf(info fs.FileInfo) fileVersion {
	stat := info.Sys().(*syscall.Stat_t)
	return fileVersion{device: stat.Dev, inode: stat.Ino, size: info.Size(), modified: info.ModTime().UnixNano()}
}
