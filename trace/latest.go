package trace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
)

// maxPasses bounds how often a table of entities is read again because segments have gone or are damaged.
const maxPasses = 4

// latestScan reads a table of entities: of the rows of each entity it passes on the one with the greatest revision. A
// recorder that ends replaces segments by one that has these rows only, so segments may vanish meanwhile; and where the
// row that counts is in a damaged segment, an earlier one does instead. Either way another pass finds what is still
// missing.
type latestScan[T any] struct {
	dataset *Dataset
	table   *Table
	columns []Column
	each    func(rows []T) error

	passed  map[EntityKey]bool // whose row was passed on
	read    map[string]bool    // segments that were read to their end
	damaged damage
}

// telling is a row of a segment whose revision counts.
type telling struct {
	row int64
	key EntityKey // null where the recorder gave no numbers
}

func (s *latestScan[T]) run(ctx context.Context) error {
	for range maxPasses {
		again, err := s.pass(ctx)
		if err != nil {
			return err
		}
		if !again {
			break
		}
	}
	return s.damaged.err()
}

// pass goes through all segments once. It tells whether another pass may find more.
func (s *latestScan[T]) pass(ctx context.Context) (again bool, err error) {
	segments, _, err := s.dataset.Segments(s.table.Name)
	if err != nil {
		return false, err
	}
	segments = slices.DeleteFunc(segments, func(segment Segment) bool {
		return slices.ContainsFunc(s.damaged.segments, func(known *SegmentError) bool { return known.Path == segment.Path })
	})
	latest := make(map[EntityKey]uint64)
	for _, segment := range segments {
		_, err := s.visit(segment, func(f *segmentFile) error {
			return scanTellings(ctx, s.table, f, func(key EntityKey, revision uint64) { latest[key] = max(latest[key], revision) })
		})
		if err != nil && ctx.Err() != nil {
			return false, err
		}
	}
	for _, segment := range segments {
		gone, err := s.visit(segment, func(f *segmentFile) error { return s.scan(ctx, f, segment.Path, latest) })
		again = again || gone
		var damaged *SegmentError
		switch {
		case errors.As(err, &damaged):
			s.damaged.add(damaged)
			again = true
		case err != nil:
			return false, err
		case !gone:
			s.read[segment.Path] = true
		}
	}
	return again, nil
}

// visit opens a segment, unless it has gone.
func (s *latestScan[T]) visit(segment Segment, use func(*segmentFile) error) (gone bool, err error) {
	f, segmentError := s.dataset.as.openSegment(segment.Path)
	switch {
	case segmentError != nil && errors.Is(segmentError, fs.ErrNotExist):
		return true, nil
	case segmentError != nil:
		return false, segmentError
	}
	defer func() { _ = f.Close() }()
	return false, use(f)
}

// scan passes on the rows of a segment that count and were not passed on before.
func (s *latestScan[T]) scan(ctx context.Context, f *segmentFile, path string, latest map[EntityKey]uint64) error {
	var counting []telling
	row := int64(0)
	tellingsError := scanTellings(ctx, s.table, f, func(key EntityKey, revision uint64) {
		switch {
		case revision == 0:
			if !s.read[path] {
				counting = append(counting, telling{row: row})
			}
		case revision == latest[key] && !s.passed[key]:
			s.passed[key] = true
			counting = append(counting, telling{row, key})
		}
		row++
	})
	var damaged *SegmentError
	if tellingsError != nil && !errors.As(tellingsError, &damaged) {
		return tellingsError
	}
	row = 0
	scanner := newScanner(s.columns, func(rows []T) error {
		kept := rows[:0]
		for i := range rows {
			if len(counting) > 0 && counting[0].row == row {
				kept = append(kept, rows[i])
				counting = counting[1:]
			}
			row++
		}
		if len(kept) == 0 {
			return nil
		}
		return s.each(kept)
	})
	err := scanner.scan(ctx, f)
	if scanner.stop != nil {
		return scanner.stop
	}
	for _, t := range counting {
		delete(s.passed, t.key) // an earlier row may be had
	}
	if err == nil && damaged != nil {
		err = damaged.Err
	}
	if err != nil {
		return &SegmentError{Path: path, Err: err}
	}
	return nil
}
