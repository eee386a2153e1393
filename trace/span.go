package trace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
)

// Span is a time span on the recording's clock, in Unix nanoseconds, both ends included.
type Span struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Nanoseconds returns the length of the span.
func (s Span) Nanoseconds() int64 { return s.Last - s.First }

// spanTables are the tables whose rows tell when something happened in a traced process.
var spanTables = []string{TableCallback, TablePublish, TableTake, TableEnqueue, TableEvent}

// Count returns the number of the table's rows from the footers of its segments. With a DamageError it counts the
// others.
func Count(ctx context.Context, d *Dataset, table string) (uint64, error) {
	var rows uint64
	err := eachSegment(ctx, d, table, func(_ string, f *segmentFile) bool {
		rows += uint64(f.Rows)
		return true
	})
	return rows, err
}

// TimeSpan returns the time from the first to the last event of the dataset, from the statistics in the footers of its
// segments; ok is false when it has no event. With a DamageError it is the span of the other segments.
func TimeSpan(ctx context.Context, d *Dataset) (span Span, ok bool, err error) {
	var damaged damage
	for _, name := range spanTables {
		columns := TableByName(name).clockColumns()
		groups, err := Groups(ctx, d, name)
		for _, group := range groups {
			for _, column := range columns {
				of, has := group.Span(column)
				if !has { // no value but nulls
					continue
				}
				if !ok {
					span, ok = of, true
				}
				span.First, span.Last = min(span.First, of.First), max(span.Last, of.Last)
			}
		}
		if err := damaged.collect(err); err != nil {
			return Span{}, false, err
		}
	}
	return span, ok, damaged.err()
}

// eachSegment opens the table's segments one after another, as long as visit wants more. Segments that fail are in the
// DamageError that it returns at the end.
func eachSegment(ctx context.Context, d *Dataset, table string, visit func(path string, f *segmentFile) bool) error {
	segments, _, err := d.Segments(table)
	if err != nil {
		return err
	}
	var damaged damage
	for _, segment := range segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, segmentError := d.as.openSegment(segment.Path)
		if segmentError != nil && errors.Is(segmentError, fs.ErrNotExist) && !TableByName(table).HasEntities() {
			continue // of a recording that keeps only so much
		}
		if segmentError != nil {
			damaged.add(segmentError)
			continue
		}
		more := visit(segment.Path, f)
		_ = f.Close()
		if !more {
			break
		}
	}
	return damaged.err()
}

// collect takes the segments of a DamageError over and returns any other error.
func (d *damage) collect(err error) error {
	var damaged *DamageError
	if errors.As(err, &damaged) {
		for _, s := range damaged.Segments {
			if !slices.ContainsFunc(d.segments, func(known *SegmentError) bool { return known.Path == s.Path }) {
				d.segments = append(d.segments, s)
			}
		}
		return nil
	}
	return err
}
