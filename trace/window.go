package trace

import (
	"math"
	"os"
	"strings"
	"unsafe"
)

// Window tells which rows of a table have to do with a time span: those of which a time lies in it, or that had begun
// before and end later. Entities and processes that have no end live on. A row without any time has to do with all.
type Window struct {
	table *Table
	span  Span
	begin []*Column
	end   []*Column
}

// NewWindow returns the window of a table.
func NewWindow(table *Table, span Span) *Window {
	w := &Window{table: table, span: span}
	for _, name := range table.clockColumns() {
		column := table.Column(name)
		if column.Type != TypeInt64 || table.tellsOfAnotherCallback(name) {
			continue
		}
		if table.HasEntities() && strings.HasSuffix(name, "end"+timeSuffix) {
			w.end = append(w.end, column)
			continue
		}
		w.begin = append(w.begin, column)
		if !table.HasEntities() {
			w.end = append(w.end, column)
		}
	}
	return w
}

// tellsOfAnotherCallback tells whether a column says when the callback began in which the row's own thing happened.
func (t *Table) tellsOfAnotherCallback(column string) bool {
	switch t.Name {
	case TableOpenCallback:
		return false
	case TableCallback:
		return column == "parent_callback_start_timestamp"
	}
	return column == "callback_start_timestamp"
}

// Has reports whether a row has to do with the time span.
func (w *Window) Has(rows AnyRows, i int) bool {
	row := rows.memory().at(i)
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, column := range w.begin {
		if at, ok := column.int64(row); ok {
			first = min(first, at)
		}
	}
	for _, column := range w.end {
		if at, ok := column.int64(row); ok {
			last = max(last, at)
		}
	}
	if first == math.MaxInt64 {
		first = math.MinInt64
	}
	if last == math.MinInt64 {
		last = math.MaxInt64
	}
	return first <= w.span.Last && last >= w.span.First
}

// int64 returns a row's value in a column of that type.
func (c *Column) int64(row unsafe.Pointer) (value int64, ok bool) {
	at := unsafe.Add(row, c.place)
	value = *(*int64)(at)
	switch {
	case c.present != 0:
		return value, *(*bool)(unsafe.Add(at, c.present))
	case c.Nullable:
		return value, value != 0
	}
	return value, true
}

// Share is which of a segment's rows have to do with a time span.
type Share uint8

// The shares. ShareSome may also be none or all: that would have to be looked for row by row.
const (
	ShareSome Share = iota
	ShareNone
	ShareAll
)

// Of tells from the footer of a segment which share of its rows have to do with the time span, and how many rows it
// has. Errors are those of ScanSegment.
func (w *Window) Of(segment *os.File) (share Share, rows int64, err error) {
	f, err := segmentOf(segment)
	if err != nil {
		return ShareSome, 0, &SegmentError{Path: segment.Name(), Err: err}
	}
	if w.table.HasEntities() {
		return ShareSome, f.Rows, nil
	}
	all := Span{First: math.MaxInt64, Last: math.MinInt64}
	kept := &keptSegment{File: f.File, path: segment.Name(), of: w.table}
	for i := range f.Groups {
		group := &Group{segment: kept, index: i}
		for _, column := range w.begin {
			of, ok := group.Span(column.Name)
			if !ok && !group.HasOnlyNull(column.Name) {
				return ShareSome, f.Rows, nil // nobody knows
			}
			if ok {
				all = Span{First: min(all.First, of.First), Last: max(all.Last, of.Last)}
			}
		}
	}
	switch {
	case all.First > all.Last:
		return ShareSome, f.Rows, nil // no row has a time
	case all.First > w.span.Last || all.Last < w.span.First:
		return ShareNone, f.Rows, nil
	case all.First >= w.span.First && all.Last <= w.span.Last:
		return ShareAll, f.Rows, nil
	}
	return ShareSome, f.Rows, nil
}
