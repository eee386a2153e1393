package trace

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// scanRows is the number of rows in a batch of Scan.
const scanRows = 1024

// Scan reads a table and passes its rows to each in batches, segment after segment in the order in which they were closed. T is
// the table's row type, or any struct whose fields have column tags of some of its columns: only those are read then. The slice
// is reused after each returns; strings in it may be kept. An error of each ends the scan and is returned as it is.
//
// A segment that cannot be read, or not to its end, does not stop the scan: it is in the DamageError that Scan returns after
// everything else was read. A column that a segment does not have (an older format) is null.
func Scan[T any](ctx context.Context, d *Dataset, table string, each func(rows []T) error) error {
	segments, _, err := d.Segments(table)
	if err != nil {
		return err
	}
	columns, err := projection(TableByName(table), reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	s := &scanner[T]{columns: columns, each: each, rows: make([]T, scanRows), interners: make([]interner, len(columns))}
	var damaged damage
	for _, segment := range segments {
		f, segmentError := openSegment(segment.Path)
		if segmentError != nil {
			damaged.add(segmentError)
			continue
		}
		err := s.scan(ctx, f.File)
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

// projection returns the columns of a struct type, which must be columns of the table.
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
	}
	return columns, nil
}

// scanner holds what a scan reuses from segment to segment.
type scanner[T any] struct {
	columns   []Column
	each      func([]T) error
	rows      []T
	values    [scanRows]parquet.Value
	interners []interner
	stop      error // of each or of the context; not the segment's
}

func (s *scanner[T]) scan(ctx context.Context, f *parquet.File) (err error) {
	indexes, err := locate(f, s.columns)
	if err != nil {
		return err
	}
	for i := range f.RowGroups() {
		if err := s.scanGroup(ctx, f, i, indexes); err != nil || s.stop != nil {
			return err
		}
	}
	return nil
}

func (s *scanner[T]) scanGroup(ctx context.Context, f *parquet.File, group int, indexes []int) error {
	readers := make([]columnReader, len(s.columns))
	defer func() {
		for i := range readers {
			readers[i].close()
		}
	}()
	for i, index := range indexes {
		if index < 0 {
			continue
		}
		if err := readers[i].open(f, group, index); err != nil {
			return fmt.Errorf("column %s: %w", s.columns[i].Name, err)
		}
	}
	for left := f.RowGroups()[group].NumRows(); left > 0; {
		if s.stop = ctx.Err(); s.stop != nil {
			return nil
		}
		rows := s.rows[:min(left, scanRows)]
		clear(rows)
		for i := range readers {
			if readers[i].pages == nil {
				continue
			}
			if err := s.fill(rows, i, &readers[i]); err != nil {
				return fmt.Errorf("column %s: %w", s.columns[i].Name, err)
			}
		}
		left -= int64(len(rows))
		if s.stop = s.each(rows); s.stop != nil {
			return nil
		}
	}
	return nil
}

// fill reads a column of the rows.
func (s *scanner[T]) fill(rows []T, column int, r *columnReader) (err error) {
	defer containPanic(&err)
	c := &s.columns[column]
	for len(rows) > 0 {
		values := s.values[:len(rows)]
		n, err := r.read(values)
		if err != nil {
			return err
		}
		setValues(c, rows, values[:n], &s.interners[column])
		rows = rows[n:]
	}
	return nil
}

// locate finds the columns in a file: their indexes, or −1 for a nullable column that the file does not have.
func locate(f *parquet.File, columns []Column) (indexes []int, err error) {
	defer containPanic(&err)
	indexes = make([]int, len(columns))
	for i := range columns {
		c := &columns[i]
		leaf, ok := f.Schema().Lookup(c.Name)
		switch {
		case !ok && c.Nullable:
			indexes[i] = -1
			continue
		case !ok:
			return nil, fmt.Errorf("%w: it has no column %s", ErrCorruptSegment, c.Name)
		case !c.fits(leaf):
			return nil, fmt.Errorf("%w: column %s has type %v", ErrCorruptSegment, c.Name, leaf.Node.Type())
		}
		indexes[i] = leaf.ColumnIndex
	}
	return indexes, nil
}

// fits tells whether values of the file's column can be stored. A writer may have made a column optional that has no nulls.
func (c *Column) fits(leaf parquet.LeafColumn) bool {
	return leaf.Node.Leaf() && leaf.MaxRepetitionLevel == 0 && leaf.MaxDefinitionLevel <= 1 && leaf.Node.Type().Kind() == parquetKinds[c.Type]
}

var parquetKinds = map[ColumnType]parquet.Kind{
	TypeBool:   parquet.Boolean,
	TypeInt32:  parquet.Int32,
	TypeUint32: parquet.Int32,
	TypeInt64:  parquet.Int64,
	TypeUint64: parquet.Int64,
	TypeString: parquet.ByteArray,
}

// columnReader reads the values of a column chunk page by page.
type columnReader struct {
	pages  parquet.Pages // nil for a column that the file does not have
	page   parquet.Page
	values parquet.ValueReader
}

func (r *columnReader) open(f *parquet.File, group, index int) (err error) {
	defer containPanic(&err)
	rows := &f.Metadata().RowGroups[group]
	part, err := loadChunk(f, &rows.Columns[index].MetaData, rows.NumRows)
	if err != nil {
		return err
	}
	r.pages = f.RowGroups()[group].ColumnChunks()[index].(*parquet.FileColumnChunk).PagesFrom(part)
	return nil
}

// read reads at least one value and at most those of the current page, or fails: io.EOF is an error here, for the row group has
// more rows. The values refer to the page and are valid until the next read.
func (r *columnReader) read(values []parquet.Value) (int, error) {
	for {
		if r.values == nil {
			if err := r.nextPage(); err != nil {
				return 0, err
			}
		}
		n, err := r.values.ReadValues(values)
		if err == io.EOF {
			r.values = nil
			err = nil
		} else if err == nil && n == 0 {
			err = io.ErrNoProgress
		}
		if err != nil {
			return 0, corrupt(err)
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (r *columnReader) nextPage() error {
	r.releasePage()
	page, err := r.pages.ReadPage()
	if err == io.EOF {
		return fmt.Errorf("%w: it has fewer values than its row group has rows", ErrCorruptSegment)
	}
	if err != nil {
		return corrupt(err)
	}
	r.page = page
	r.values = page.Values()
	return nil
}

func (r *columnReader) releasePage() {
	if r.page != nil {
		parquet.Release(r.page)
		r.page = nil
	}
}

func (r *columnReader) close() {
	r.releasePage()
	if r.pages != nil {
		_ = r.pages.Close()
	}
}
