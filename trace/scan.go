package trace

import (
	"context"
	"fmt"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// scanRows is the number of rows in a batch of Scan.
const scanRows = 1024

// Scan reads a table and passes its rows to each in batches, segment after segment in the order in which they were
// closed; of entities and processes, which may have several rows, only the one that counts (Telling). T is the table's
// row type, or any struct whose fields have column tags of some of its columns: only those are read then. The slice is
// reused after each returns; strings in it may be kept. An error of each ends the scan and is returned as it is.
//
// A segment that cannot be read, or not to its end, does not stop the scan: it is in the DamageError that Scan returns
// after everything else was read. A column that a segment does not have (an older format) is null. Of entities and
// processes only so many are read (EntityLimit).
//
// All that read rows share memory, and wait for each other when it is used up. So each should not read rows itself, nor
// wait for others who do.
func Scan[T any](ctx context.Context, d *Dataset, table string, each func(rows []T) error) error {
	return ScanWithin(ctx, d, table, NewEntityLimit(), each)
}

// ScanWithin is Scan with a limit that several tables of entities and processes share.
func ScanWithin[T any](ctx context.Context, d *Dataset, table string, limit *EntityLimit, each func(rows []T) error) error {
	segments, _, err := d.Segments(table)
	if err != nil {
		return err
	}
	of := TableByName(table)
	columns, err := projection(of, reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	if of.HasEntities() {
		s := latestScan[T]{dataset: d, table: of, columns: columns, each: each, limit: limit, passed: make(map[EntityKey]bool), read: make(map[string]bool)}
		return s.run(ctx)
	}
	s := newScanner(columns, each)
	var damaged damage
	for _, segment := range segments {
		f, segmentError := d.as.openSegment(segment.Path)
		if segmentError != nil {
			damaged.add(segmentError)
			continue
		}
		err := s.scan(ctx, f)
		_ = f.Close()
		if s.stop != nil {
			return s.stop
		}
		if err != nil {
			damaged.add(&SegmentError{Path: segment.Path, Err: err})
		}
	}
	return damaged.err()
}

// projection returns the columns of a struct type, which must be columns of the table. Behind them are the columns of
// offsets that some are stored in: those need the time that the offset is from.
func projection(table *Table, row reflect.Type) ([]Column, error) {
	columns, err := columnsOf(row)
	if err != nil {
		return nil, fmt.Errorf("scan table %s: %w", table.Name, err)
	}
	for i := range columns {
		c := &columns[i]
		of := table.Column(c.Name)
		if of == nil || of.Type != c.Type || of.Nullable != c.Nullable {
			return nil, fmt.Errorf("scan table %s: column %s of %v is not as in the table", table.Name, c.Name, row)
		}
		c.After = of.After
	}
	for _, c := range columns {
		if c.After == "" {
			continue
		}
		offsets, err := c.offsets(columns)
		if err != nil {
			return nil, fmt.Errorf("scan table %s: %v: %w", table.Name, row, err)
		}
		columns = append(columns, offsets)
	}
	return columns, nil
}

// scanner holds what a scan reuses from segment to segment.
type scanner[T any] struct {
	columns   []Column
	each      func([]T) error
	rows      []T
	interners []columnar.Interner
	stop      error // of each or of the context; not the segment's
}

func newScanner[T any](columns []Column, each func([]T) error) *scanner[T] {
	return &scanner[T]{columns: columns, each: each, rows: make([]T, scanRows), interners: make([]columnar.Interner, len(columns))}
}

func (s *scanner[T]) scan(ctx context.Context, f *segmentFile) (err error) {
	indexes, err := locate(f.File, s.columns)
	if err != nil {
		return err
	}
	for i := range f.Groups {
		err := s.withMemory(ctx, f, i, indexes, func() error { return s.scanGroup(ctx, f, i, indexes) })
		if err != nil || s.stop != nil {
			return err
		}
	}
	return nil
}

// withMemory reads columns of a group when there is memory for them.
func (s *scanner[T]) withMemory(ctx context.Context, f *segmentFile, group int, indexes []int, read func() error) error {
	giveBack, err := reading.forColumns(ctx, f.File, group, indexes)
	if err != nil {
		s.stop = ctx.Err()
		return err
	}
	defer giveBack()
	return read()
}

func (s *scanner[T]) scanGroup(ctx context.Context, f *segmentFile, group int, indexes []int) error {
	readers, closeReaders, err := s.open(f, group, indexes)
	defer closeReaders()
	if err != nil {
		return err
	}
	return s.eachBatch(ctx, f.Groups[group].Rows, func(n int) error {
		rows := s.rows[:n]
		clear(rows)
		for i := range readers {
			if readers[i].IsMissing() {
				continue
			}
			if err := fill(rows, &s.columns[i], &readers[i]); err != nil {
				return fmt.Errorf("column %s: %w", s.columns[i].Name, err)
			}
		}
		s.stop = s.each(rows)
		return nil
	})
}

// open opens the columns of a group. Those that the file does not have stay without pages.
func (s *scanner[T]) open(f *segmentFile, group int, indexes []int) (readers []columnReader, closeReaders func(), err error) {
	readers = make([]columnReader, len(s.columns))
	closeReaders = func() {
		for i := range readers {
			readers[i].Close()
		}
	}
	for i, index := range indexes {
		if index < 0 {
			continue
		}
		if err := readers[i].open(f, group, index, &s.interners[i]); err != nil {
			return nil, closeReaders, fmt.Errorf("column %s: %w", s.columns[i].Name, err)
		}
	}
	return readers, closeReaders, nil
}

// eachBatch goes through that many rows. It ends early when stop was set.
func (s *scanner[T]) eachBatch(ctx context.Context, rows int64, each func(n int) error) error {
	for left := rows; left > 0; {
		if s.stop = ctx.Err(); s.stop != nil {
			return nil
		}
		n := min(left, scanRows)
		if err := each(int(n)); err != nil || s.stop != nil {
			return err
		}
		left -= n
	}
	return nil
}

// locate finds the columns in a file: their indexes, or −1 for a nullable column that the file does not have.
func locate(f *columnar.File, columns []Column) (indexes []int, err error) {
	indexes = make([]int, len(columns))
	for i := range columns {
		c := &columns[i]
		indexes[i] = f.Leaf(c.Name)
		switch {
		case indexes[i] < 0 && c.Nullable:
		case indexes[i] < 0:
			return nil, fmt.Errorf("%w: it has no column %s", ErrCorruptSegment, c.Name)
		case !c.fits(&f.Leaves[indexes[i]]):
			return nil, fmt.Errorf("%w: column %s has type %v", ErrCorruptSegment, c.Name, f.Leaves[indexes[i]].Kind)
		}
	}
	return indexes, nil
}

// fits tells whether values of the file's column can be stored. A writer may have made a column optional that has no
// nulls.
func (c *Column) fits(leaf *columnar.Leaf) bool {
	return !leaf.Repeated && leaf.Kind == parquetKinds[c.Type]
}

var parquetKinds = map[ColumnType]parquet.Kind{
	TypeBool:   parquet.Boolean,
	TypeInt32:  parquet.Int32,
	TypeInt64:  parquet.Int64,
	TypeString: parquet.ByteArray,
}
