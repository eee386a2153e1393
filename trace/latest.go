package trace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"unsafe"
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
	limit   *EntityLimit

	beyond  bool               // the limit are entities that were met
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
		if !again || s.limit.Entities == 0 {
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
	latest, err := s.latest(ctx, segments)
	if err != nil {
		return false, err
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

// latest returns the greatest revision of each entity that was not passed on. It leaves out entities beyond the limit.
func (s *latestScan[T]) latest(ctx context.Context, segments []Segment) (latest map[EntityKey]uint64, err error) {
	latest = make(map[EntityKey]uint64)
	for _, segment := range segments {
		_, err := s.visit(segment, func(f *segmentFile) error {
			return scanTellings(ctx, s.table, f, func(key EntityKey, revision uint64) {
				former, known := latest[key]
				switch {
				case revision <= former || s.passed[key]:
				case known || len(latest) < s.limit.Entities:
					latest[key] = revision
				default:
					s.beyond = true
				}
			})
		})
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	return latest, nil
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
	counting, problem := s.counting(ctx, f, path, latest)
	var damaged *SegmentError
	if problem != nil && !errors.As(problem, &damaged) {
		return problem
	}
	row := int64(0)
	scanner := newScanner(s.columns, func(rows []T) error {
		kept := rows[:0]
		for i := range rows {
			if len(counting) > 0 && counting[0].row == row {
				kept = append(kept, rows[i])
				counting = counting[1:]
			}
			row++
		}
		return s.passOn(kept)
	})
	err := scanner.scan(ctx, f)
	if errors.Is(scanner.stop, ErrTooManyEntities) {
		err = scanner.stop
	} else if scanner.stop != nil {
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

// counting returns the rows of a segment that scan passes on, as many as the limit allows.
func (s *latestScan[T]) counting(ctx context.Context, f *segmentFile, path string, latest map[EntityKey]uint64) (counting []telling, err error) {
	exceeded := false
	row := int64(0)
	count := func(key EntityKey) {
		if exceeded = exceeded || len(counting) >= s.limit.Entities; !exceeded {
			counting = append(counting, telling{row, key})
		}
	}
	err = scanTellings(ctx, s.table, f, func(key EntityKey, revision uint64) {
		switch {
		case revision == 0:
			if !s.read[path] {
				count(EntityKey{})
			}
		case s.passed[key]:
		case latest[key] == 0:
			exceeded = exceeded || s.beyond
		case revision == latest[key]:
			if count(key); !exceeded {
				s.passed[key] = true
			}
		}
		row++
	})
	if err == nil && exceeded {
		err = &SegmentError{Path: path, Err: ErrTooManyEntities}
	}
	return counting, err
}

// passOn passes on rows that count, as many as the limit allows.
func (s *latestScan[T]) passOn(rows []T) error {
	n := 0
	for n < len(rows) && s.limit.admit(textOf(s.columns, unsafe.Pointer(&rows[n]))) {
		n++
	}
	if n > 0 {
		if err := s.each(rows[:n]); err != nil {
			return err
		}
	}
	if n < len(rows) {
		return ErrTooManyEntities
	}
	return nil
}
