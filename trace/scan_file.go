package trace

import (
	"context"
	"fmt"
	"reflect"
)

// ScanFile passes on the rows of a Parquet file that belongs to no dataset, as Scan does those of a segment: only the
// columns that the fields of T have tags of are read, and the slice is reused. An error of each is returned as it is.
// Others name the file; those of its content wrap ErrTruncatedSegment or ErrCorruptSegment.
func ScanFile[T any](ctx context.Context, path string, each func(rows []T) error) error {
	columns, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return fmt.Errorf("scan %s: %w", path, err)
	}
	f, segmentError := As(asProgram).openSegment(path)
	if segmentError != nil {
		return fmt.Errorf("scan %s: %w", path, segmentError.Err)
	}
	defer func() { _ = f.Close() }()
	s := newScanner(columns, each)
	err = s.scan(ctx, f)
	if s.stop != nil {
		return s.stop
	}
	if err != nil {
		return fmt.Errorf("scan %s: %w", path, err)
	}
	return nil
}
