package writer

import (
	"github.com/parquet-go/parquet-go/format"

	"github.com/caret-bpf/caret-bpf/trace"
)

// longestBound is the length up to which a string is in the statistics.
const longestBound = 64

// bounds are the least and the greatest value of a column in a row group, in the order of the column's type.
type bounds[V trace.Cell] struct {
	least, greatest V
	known           bool
	less            func(a, b V) bool
}

func newBounds[V trace.Cell](t trace.ColumnType) bounds[V] {
	var less any
	switch t {
	case trace.TypeBool:
		less = func(a, b bool) bool { return !a && b }
	case trace.TypeInt32:
		less = func(a, b int32) bool { return a < b }
	case trace.TypeInt64:
		less = func(a, b int64) bool { return a < b }
	case trace.TypeString:
		less = func(a, b string) bool { return a < b }
	}
	return bounds[V]{less: less.(func(a, b V) bool)}
}

func (b *bounds[V]) add(values []V) {
	for _, value := range values {
		switch {
		case !b.known:
			b.least, b.greatest, b.known = value, value, true
		case b.less(value, b.least):
			b.least = value
		case b.less(b.greatest, value):
			b.greatest = value
		}
	}
}

// statistics are the bounds as the footer has them. Long strings are left out.
func (b *bounds[V]) statistics(nulls int) format.Statistics {
	s := format.Statistics{NullCount: int64(nulls)}
	if !b.known {
		return s
	}
	least, greatest := boundBytes(b.least), boundBytes(b.greatest)
	if len(least) <= longestBound && len(greatest) <= longestBound {
		s.MinValue, s.MaxValue = least, greatest
	}
	return s
}

// boundBytes is a value in PLAIN, a string without its length.
func boundBytes[V trace.Cell](value V) []byte {
	if text, ok := any(value).(string); ok {
		return []byte(text)
	}
	return appendPlain(nil, []V{value})
}

func (b *bounds[V]) reset() { *b = bounds[V]{less: b.less} }
