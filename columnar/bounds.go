package columnar

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
)

// longestBound is the length up to which a string is in the statistics.
const longestBound = 64

// bounds are the least and the greatest value of a column in a row group, in the order of the column's type.
type bounds[V Value] struct {
	least, greatest V
	known           bool
	less            func(a, b V) bool // nil for floating-point numbers, which have no order with NaN
}

func newBounds[V Value]() bounds[V] {
	var zero V
	var less any
	switch any(zero).(type) {
	case bool:
		less = func(a, b bool) bool { return !a && b }
	case int32:
		less = func(a, b int32) bool { return a < b }
	case int64:
		less = func(a, b int64) bool { return a < b }
	case string:
		less = func(a, b string) bool { return a < b }
	default:
		return bounds[V]{}
	}
	return bounds[V]{less: less.(func(a, b V) bool)}
}

func (b *bounds[V]) add(values []V) {
	if b.less == nil {
		return
	}
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
func boundBytes[V Value](value V) []byte {
	if text, ok := any(value).(string); ok {
		return []byte(text)
	}
	return appendPlain(nil, []V{value})
}

func (b *bounds[V]) reset() { *b = bounds[V]{less: b.less} }

// int64Bounds returns the least and the greatest value of a column of TypeInt64, as the footer has them; ok is false
// where it has none.
func int64Bounds(s *format.Statistics) (least, greatest int64, ok bool) {
	if len(s.MinValue) != 8 || len(s.MaxValue) != 8 {
		return 0, 0, false
	}
	return int64(binary.LittleEndian.Uint64(s.MinValue)), int64(binary.LittleEndian.Uint64(s.MaxValue)), true
}
