package trace

import (
	"context"
	"reflect"
	"unsafe"
)

// Rows are rows of the table whose row type is T.
type Rows[T any] []T

// AnyRows are the rows of one table, whatever their type: a *Rows. What handles all tables alike handles these.
type AnyRows interface {
	// Len returns the number of rows.
	Len() int
	// IsFull tells whether there is no room for another row without new memory.
	IsFull() bool
	// Take copies other rows of the same table, from the one of that index on, as far as there is room. It returns how
	// many.
	Take(from AnyRows, first int) int
	// Retain leaves the rows that are wanted, by their indexes.
	Retain(wanted func(i int) bool)
	// Clear forgets the rows and what they refer to. It keeps their memory.
	Clear()

	// empty returns other rows of the same table, of which there are none yet.
	empty() AnyRows
	// in returns the rows of the same table that are at a place in a batch.
	in(b *Batch, place uintptr) AnyRows
	// reset is Clear for rows that are about to be written over.
	reset()
	// reserve makes room for as many rows as have that many bytes.
	reserve(bytes int)
	// append copies other rows of the same table.
	append(from AnyRows)
	// read appends the table's rows of a dataset.
	read(ctx context.Context, d *Dataset, table *Table) error
	// scanFile passes on the rows of a segment in batches, as scanFile of a row type does.
	scanFile(ctx context.Context, table *Table, f *segmentFile, each func(AnyRows) error) error
	rowType() reflect.Type
	memory() rowMemory
}

// rowMemory is where rows lie.
type rowMemory struct {
	first unsafe.Pointer
	size  uintptr
	count int
}

func (m rowMemory) at(i int) unsafe.Pointer { return unsafe.Add(m.first, uintptr(i)*m.size) }

// Len implements AnyRows.
func (r *Rows[T]) Len() int { return len(*r) }

// IsFull implements AnyRows.
func (r *Rows[T]) IsFull() bool { return len(*r) == cap(*r) }

// Take implements AnyRows.
func (r *Rows[T]) Take(from AnyRows, first int) int {
	n := copy((*r)[len(*r):cap(*r)], (*from.(*Rows[T]))[first:])
	*r = (*r)[:len(*r)+n]
	return n
}

// Retain implements AnyRows.
func (r *Rows[T]) Retain(wanted func(i int) bool) {
	kept := (*r)[:0]
	for i := range *r {
		if wanted(i) {
			kept = append(kept, (*r)[i])
		}
	}
	*r = kept
}

// Clear implements AnyRows.
func (r *Rows[T]) Clear() {
	clear(*r)
	r.reset()
}

func (*Rows[T]) empty() AnyRows { return new(Rows[T]) }

func (*Rows[T]) in(b *Batch, place uintptr) AnyRows {
	return (*Rows[T])(unsafe.Add(unsafe.Pointer(b), place))
}

func (r *Rows[T]) reset() { *r = (*r)[:0] }

func (r *Rows[T]) reserve(bytes int) { *r = make(Rows[T], 0, uintptr(bytes)/r.memory().size) }

func (r *Rows[T]) append(from AnyRows) { *r = append(*r, *from.(*Rows[T])...) }

func (r *Rows[T]) read(ctx context.Context, d *Dataset, table *Table) error {
	return Scan(ctx, d, table.Name, func(rows []T) error {
		*r = append(*r, rows...)
		return nil
	})
}

func (r *Rows[T]) scanFile(ctx context.Context, table *Table, f *segmentFile, each func(AnyRows) error) error {
	return scanFile(ctx, table, f, func(rows []T) error {
		*r = rows
		return each(r)
	})
}

func (r *Rows[T]) rowType() reflect.Type { return reflect.TypeFor[T]() }

func (r *Rows[T]) memory() rowMemory {
	var row T
	return rowMemory{first: unsafe.Pointer(unsafe.SliceData(*r)), size: unsafe.Sizeof(row), count: len(*r)}
}
