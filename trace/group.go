package trace

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// Group is a row group of a segment: the smallest part of a table that is read by itself. Its statistics tell whether
// it has to be.
type Group struct {
	as      As
	path    string
	segment *segmentFile // closed; it holds the footer
	index   int
	rows    int64
	columns []string
	// unsigned are those of the columns that are unsigned numbers.
	unsigned []string
	chunks   []format.ColumnChunk
	of       *Table
}

// Groups returns the row groups of a table, in its order. With a DamageError it returns those of the other segments.
func Groups(ctx context.Context, d *Dataset, table string) ([]*Group, error) {
	segments, _, err := d.Segments(table)
	if err != nil {
		return nil, err
	}
	var groups []*Group
	var damaged damage
	for _, segment := range segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, segmentError := d.as.openSegment(segment.Path)
		if segmentError != nil {
			damaged.add(segmentError)
			continue
		}
		err := visitContained(f.File, func(*parquet.File) error {
			groups = append(groups, groupsOf(d.as, segment.Path, TableByName(table), f)...)
			return nil
		})
		_ = f.Close()
		if err != nil {
			damaged.add(&SegmentError{Path: segment.Path, Err: err})
		}
	}
	return groups, damaged.err()
}

func groupsOf(as As, path string, of *Table, f *segmentFile) []*Group {
	var columns, unsigned []string
	for _, name := range f.Schema().Columns() {
		columns = append(columns, name[0])
		if isUnsigned(f.Schema(), name) {
			unsigned = append(unsigned, name[0])
		}
	}
	var groups []*Group
	for i, group := range f.Metadata().RowGroups {
		groups = append(groups, &Group{as: as, path: path, segment: f, index: i, rows: group.NumRows, columns: columns, unsigned: unsigned, chunks: group.Columns, of: of})
	}
	return groups
}

func isUnsigned(schema *parquet.Schema, name []string) bool {
	leaf, ok := schema.Lookup(name...)
	if !ok {
		return false
	}
	logical := leaf.Node.Type().LogicalType()
	if logical == nil {
		return false
	}
	integer, ok := logical.Value.(*format.IntType)
	return ok && !integer.IsSigned
}

// Rows returns the number of rows.
func (g *Group) Rows() int64 { return g.rows }

// Span returns the least and the greatest value of an INT64 column, from the group's statistics; ok is false where the
// column has no value, and where its statistics are missing. Of a column that is stored as offsets the span may be
// longer than its values'.
func (g *Group) Span(column string) (span Span, ok bool) {
	span, ok = g.storedSpan(column)
	c := g.of.Column(column)
	if c == nil || c.After == "" {
		return span, ok
	}
	offsets, hasOffsets := g.storedSpan(c.OffsetName())
	base, hasBase := g.storedSpan(c.After)
	if !hasOffsets || !hasBase {
		return span, ok
	}
	from := Span{First: base.First + offsets.First, Last: base.Last + offsets.Last}
	if ok {
		from = Span{First: min(span.First, from.First), Last: max(span.Last, from.Last)}
	}
	return from, true
}

// storedSpan is Span for what is stored in the column itself.
func (g *Group) storedSpan(column string) (span Span, ok bool) {
	span.First, span.Last, ok = columnar.Int64Bounds(g.statistics(column))
	return span, ok
}

// HasColumn tells whether the column is in the file.
func (g *Group) HasColumn(column string) bool { return slices.Contains(g.columns, column) }

// IsUnsigned tells whether the column is an unsigned number in the file. In format 3 none is.
func (g *Group) IsUnsigned(column string) bool { return slices.Contains(g.unsigned, column) }

// HasOnlyNull tells whether the statistics say that the column has no value in the group, or that the column does not
// exist.
func (g *Group) HasOnlyNull(column string) bool {
	if c := g.of.Column(column); c != nil && c.After != "" && !g.HasOnlyNull(c.OffsetName()) {
		return false
	}
	if !slices.Contains(g.columns, column) {
		return true
	}
	statistics := g.statistics(column)
	return statistics != nil && statistics.NullCount == g.rows
}

func (g *Group) statistics(column string) *format.Statistics {
	i := slices.Index(g.columns, column)
	if i < 0 || i >= len(g.chunks) {
		return nil
	}
	return &g.chunks[i].MetaData.Statistics
}

// ScanGroup reads the rows of a group that are selected as Scan reads a table. A group that cannot be read to its end
// gives a DamageError after what was read.
func ScanGroup[T any](ctx context.Context, table string, g *Group, selection Selection, each func(rows []T) error) error {
	columns, err := groupColumns[T](table)
	if err != nil {
		return err
	}
	return scanGroup(ctx, g, columns, selection, func(s *scanner[T], f *segmentFile, indexes []int) error {
		s.each = each
		if len(selection) == 0 {
			return s.scanGroup(ctx, f, g.index, indexes)
		}
		return s.selectGroup(ctx, f, g.index, indexes, selection)
	})
}

// groupColumns returns the columns of T in a group of the table.
func groupColumns[T any](table string) ([]Column, error) {
	of := TableByName(table)
	if of == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownTable, table)
	}
	return projection(of, reflect.TypeFor[T]())
}

// scanGroup opens a group for a function that reads columns of it. An error of the function is the segment's, one that
// the scanner keeps is not.
func scanGroup[T any](ctx context.Context, g *Group, columns []Column, selection Selection, read func(s *scanner[T], f *segmentFile, indexes []int) error) error {
	if !g.MayHold(selection) {
		return ctx.Err()
	}
	f, segmentError := g.as.openSegmentAgain(g.path, g.segment)
	if segmentError != nil {
		return &DamageError{Segments: []*SegmentError{segmentError}}
	}
	defer func() { _ = f.Close() }()
	s := newScanner[T](columns, nil)
	indexes, err := locate(f.File, columns)
	if err == nil && g.index >= len(f.RowGroups()) {
		err = fmt.Errorf("%w: it has lost row group %d", ErrCorruptSegment, g.index)
	}
	if err == nil {
		err = read(s, f, indexes)
	}
	if s.stop != nil {
		return s.stop
	}
	if err != nil {
		return &DamageError{Segments: []*SegmentError{{Path: g.path, Err: err}}}
	}
	return nil
}

// Values returns the number of rows in which the column is not null. Of a column without statistics it is all of them.
func (g *Group) Values(column string) int64 {
	values := int64(0)
	if c := g.of.Column(column); c != nil && c.After != "" {
		values = g.Values(c.OffsetName())
	}
	if !slices.Contains(g.columns, column) {
		return values
	}
	statistics := g.statistics(column)
	if statistics == nil {
		return g.rows
	}
	return values + g.rows - min(max(statistics.NullCount, 0), g.rows)
}

// StoredBytes returns what the pages of a column take in the file, compressed; 0 for a column that the file does not
// have.
func (g *Group) StoredBytes(column string) int64 {
	i := slices.Index(g.columns, column)
	if i < 0 || i >= len(g.chunks) {
		return 0
	}
	return g.chunks[i].MetaData.TotalCompressedSize
}
