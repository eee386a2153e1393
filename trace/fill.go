package trace

import (
	"unsafe"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// columnReader reads a column of a row group; rows get its values.
type columnReader struct{ columnar.ColumnReader }

// open opens the column of that index in the file.
func (r *columnReader) open(f *segmentFile, group, index int, strings *columnar.Interner) error {
	return r.Open(f.File, f, group, index, strings)
}

// fill reads a column of the rows, which hold its zero value before.
func fill[T any](rows []T, c *Column, r *columnReader) (err error) {
	defer columnar.ContainPanic(&err)
	for len(rows) > 0 {
		if r.Rows == 0 {
			if err := r.NextPage(); err != nil {
				return err
			}
			continue
		}
		n := min(len(rows), r.Rows)
		switch c.Type {
		case TypeBool:
			r.Values.Bools = store(c, rows[:n], r, r.Values.Bools)
		case TypeInt32:
			r.Values.Int32s = store(c, rows[:n], r, r.Values.Int32s)
		case TypeInt64:
			r.Values.Int64s = store(c, rows[:n], r, r.Values.Int64s)
		default:
			r.Values.Strings = store(c, rows[:n], r, r.Values.Strings)
		}
		rows = rows[n:]
		r.Rows -= n
	}
	return nil
}

// store stores the column's next values, which are of type V or an unsigned type of its size, in the rows, and returns
// the values that remain.
func store[T, V any](c *Column, rows []T, r *columnReader, values []V) []V {
	switch {
	case r.Levels != nil:
		return storeOptional(c, rows, r, values)
	case r.Indexes != nil:
		for i, at := range r.Indexes[:len(rows)] {
			put(c, unsafe.Pointer(&rows[i]), values[at])
		}
		r.Indexes = r.Indexes[len(rows):]
		return values
	}
	for i, value := range values[:len(rows)] {
		put(c, unsafe.Pointer(&rows[i]), value)
	}
	return values[len(rows):]
}

// storeOptional is store for a page with nulls.
func storeOptional[T, V any](c *Column, rows []T, r *columnReader, values []V) []V {
	levels := r.Levels[:len(rows)]
	r.Levels = r.Levels[len(rows):]
	if r.Present == 0 {
		return values
	}
	used := 0
	for i, level := range levels {
		if level == 0 {
			continue
		}
		at := used
		if r.Indexes != nil {
			at = int(r.Indexes[used])
		}
		used++
		put(c, unsafe.Pointer(&rows[i]), values[at])
	}
	if r.Indexes != nil {
		r.Indexes = r.Indexes[used:]
		return values
	}
	return values[used:]
}

// put stores a value of the column in a row.
func put[V any](c *Column, row unsafe.Pointer, value V) {
	p := unsafe.Add(row, c.place)
	*(*V)(p) = value
	if c.present != 0 {
		*(*bool)(unsafe.Add(p, c.present)) = true
	}
	if c.isOffset { // from a time that was read before
		*(*int64)(p) += *(*int64)(unsafe.Add(row, c.base))
	}
}
