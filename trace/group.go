package trace

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// Group is a row group of a segment: the smallest part of a table that is read by itself. Its statistics tell whether
// it has to be.
type Group struct {
	segment *keptSegment
	index   int
}

// keptSegment is what is kept of a segment whose row groups are known.
type keptSegment struct {
	*columnar.File
	as      As
	path    string
	version fileVersion
	of      *Table
}

// Groups returns the row groups of a table that have rows, in its order. With a DamageError it returns those of the
// other segments. Of a dataset with more than can be kept it returns the first ones (ErrTooManyGroups).
func Groups(ctx context.Context, d *Dataset, table string) ([]*Group, error) {
	var groups []*Group
	var beyond *SegmentError
	var leaves []columnar.Leaf
	room := d.kept.room(table)
	used := int64(0)
	err := eachSegment(ctx, d, table, func(path string, f *segmentFile) bool {
		segment := &keptSegment{File: f.File, as: d.as, path: path, version: f.version, of: TableByName(table)}
		own := !slices.Equal(f.Leaves, leaves)
		if !own {
			segment.Leaves = leaves // one for all segments of a recording
		}
		if used += segment.memory(own); used > room {
			beyond = &SegmentError{Path: path, Err: ErrTooManyGroups}
			return false
		}
		leaves = segment.Leaves
		of := make([]Group, len(f.Groups))
		for i := range of {
			if f.Groups[i].Rows > 0 {
				of[i] = Group{segment: segment, index: i}
				groups = append(groups, &of[i])
			}
		}
		return true
	})
	var damaged damage
	if err := damaged.collect(err); err != nil {
		return nil, err
	}
	if beyond != nil {
		damaged.add(beyond)
	}
	d.kept.set(table, min(used, room))
	return groups, damaged.err()
}

// chunk returns what is known of a column's pages, nil where the file does not have it.
func (g *Group) chunk(column string) *columnar.Chunk {
	i := g.segment.Leaf(column)
	if i < 0 {
		return nil
	}
	return &g.segment.Groups[g.index].Chunks[i]
}

// Rows returns the number of rows.
func (g *Group) Rows() int64 { return g.segment.Groups[g.index].Rows }

// Span returns the least and the greatest value of an INT64 column, from the group's statistics; ok is false where the
// column has no value, and where its statistics are missing. Of a column that is stored as offsets the span may be
// longer than its values'.
func (g *Group) Span(column string) (span Span, ok bool) {
	span, ok = g.storedSpan(column)
	c := g.segment.of.Column(column)
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
	c := g.chunk(column)
	if c == nil || !c.Bounded {
		return Span{}, false
	}
	return Span{First: c.Least, Last: c.Greatest}, true
}

// HasColumn tells whether the column is in the file.
func (g *Group) HasColumn(column string) bool { return g.segment.Leaf(column) >= 0 }

// IsUnsigned tells whether the column is an unsigned number in the file. In format 3 none is.
func (g *Group) IsUnsigned(column string) bool {
	i := g.segment.Leaf(column)
	return i >= 0 && g.segment.Leaves[i].Unsigned
}

// HasOnlyNull tells whether the statistics say that the column has no value in the group, or that the column does not
// exist.
func (g *Group) HasOnlyNull(column string) bool {
	if c := g.segment.of.Column(column); c != nil && c.After != "" && !g.HasOnlyNull(c.OffsetName()) {
		return false
	}
	c := g.chunk(column)
	return c == nil || c.Nulls == g.Rows()
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
	f, segmentError := g.segment.as.openSegmentAgain(g.segment.path, g.segment.File, g.segment.version)
	if segmentError != nil {
		return &DamageError{Segments: []*SegmentError{segmentError}}
	}
	defer func() { _ = f.Close() }()
	s := newScanner[T](columns, nil)
	indexes, err := locate(f.File, columns)
	if err == nil && g.index >= len(f.Groups) {
		err = fmt.Errorf("%w: it has lost row group %d", ErrCorruptSegment, g.index)
	}
	if err == nil {
		all := append(selection.indexes(f.File), indexes...)
		err = s.withMemory(ctx, f, g.index, all, func() error { return read(s, f, indexes) })
	}
	if s.stop != nil {
		return s.stop
	}
	if err != nil {
		return &DamageError{Segments: []*SegmentError{{Path: g.segment.path, Err: err}}}
	}
	return nil
}

// Values returns the number of rows in which the column is not null, as the statistics tell.
func (g *Group) Values(column string) int64 {
	values := int64(0)
	if c := g.segment.of.Column(column); c != nil && c.After != "" {
		values = g.Values(c.OffsetName())
	}
	if c := g.chunk(column); c != nil {
		values += g.Rows() - min(max(c.Nulls, 0), g.Rows())
	}
	return values
}

// StoredBytes returns what the pages of a column take in the file, compressed; 0 for a column that the file does not
// have.
func (g *Group) StoredBytes(column string) int64 {
	if c := g.chunk(column); c != nil {
		return c.Length
	}
	return 0
}
