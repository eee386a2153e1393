package trace

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// Distinct passes on which rows the columns of T make in a group, in no order, each once with the number of rows that
// are so. Where rows repeat, it takes a fraction of the time of ScanGroup: they are counted by what their values are
// numbered in the columns' dictionaries. A group that cannot be read to its end gives a DamageError after what was
// read.
func Distinct[T comparable](ctx context.Context, table string, g *Group, each func(row *T, rows uint64)) error {
	columns, err := groupColumns[T](table)
	if err != nil {
		return err
	}
	counts := make(map[T]uint64)
	err = scanGroup(ctx, g, columns, nil, func(s *scanner[T], f *segmentFile, indexes []int) error {
		err := s.countCodes(ctx, f, g.index, indexes, func(row *T, rows uint64) { counts[*row] += rows })
		if !errors.Is(err, errNotCoded) {
			return err
		}
		s.each = func(rows []T) error {
			for i := range rows {
				counts[rows[i]]++
			}
			return nil
		}
		return s.scanGroup(ctx, f, g.index, indexes)
	})
	for row, count := range counts {
		each(&row, count)
	}
	return err
}

// errNotCoded says that a column's values are not all in its dictionary, or that there are too many combinations to
// number them.
var errNotCoded = errors.New("not coded by dictionaries")

// countCodes passes on how often rows occur in a group. They are told apart by keys: the digits of a row's key are the
// codes of its values.
func (s *scanner[T]) countCodes(ctx context.Context, f *segmentFile, group int, indexes []int, each func(row *T, rows uint64)) error {
	readers, closeReaders, err := s.open(f, group, indexes)
	defer closeReaders()
	if err != nil {
		return err
	}
	if !coded(s.columns, readers) {
		return errNotCoded
	}
	var byKey keyCounts
	keys := make([]uint64, scanRows)
	err = s.eachBatch(ctx, f.Groups[group].Rows, func(n int) error {
		keys := keys[:n]
		clear(keys)
		for i := range readers {
			if err := readers[i].appendCodes(keys); err != nil {
				return fmt.Errorf("column %s: %w", s.columns[i].Name, err)
			}
		}
		for _, key := range keys {
			*byKey.of(key)++
		}
		return nil
	})
	if errors.Is(err, errNotCoded) {
		return err
	}
	for key, count := range byKey.counts {
		row, decodingError := s.rowOf(key, readers)
		if decodingError != nil {
			return decodingError
		}
		each(&row, *count)
	}
	return err
}

// rowOf returns the row with a key.
func (s *scanner[T]) rowOf(key uint64, readers []columnReader) (row T, err error) {
	defer columnar.ContainPanic(&err)
	for i := len(readers) - 1; i >= 0; i-- {
		key = readers[i].putCode(&s.columns[i], unsafe.Pointer(&row), key)
	}
	return row, nil
}

// coded tells whether each column has a dictionary or no value, and whether a key can hold the codes of all.
func coded(columns []Column, readers []columnReader) bool {
	combinations := uint64(1)
	for i := range readers {
		if columns[i].storesOffset() {
			return false
		}
		high, low := bits.Mul64(combinations, readers[i].codes())
		if combinations = low; high != 0 {
			return false
		}
	}
	return true
}

// codes is the number of codes of a column: 0 stands for null, the others for the values of the dictionary.
func (r *columnReader) codes() uint64 { return uint64(r.DictionarySize) + 1 }

// appendCodes makes the codes of the next rows the last digits of their keys.
func (r *columnReader) appendCodes(keys []uint64) (err error) {
	defer columnar.ContainPanic(&err)
	if r.IsMissing() {
		return nil // the only code is 0, and the only digit
	}
	base := r.codes()
	for len(keys) > 0 {
		if r.Rows == 0 {
			if err := r.NextPage(); err != nil {
				return err
			}
			if r.Indexes == nil && r.Present > 0 {
				return errNotCoded
			}
			continue
		}
		n := min(len(keys), r.Rows)
		used := 0
		for i := range keys[:n] {
			code := uint64(0)
			if r.Levels == nil || r.Levels[i] != 0 {
				code = uint64(r.Indexes[used]) + 1
				used++
			}
			if code >= base {
				return fmt.Errorf("%w: value %d of a dictionary of %d", ErrCorruptSegment, code-1, r.DictionarySize)
			}
			keys[i] = keys[i]*base + code
		}
		if r.Levels != nil {
			r.Levels = r.Levels[n:]
		}
		r.Indexes = r.Indexes[used:]
		r.Rows -= n
		keys = keys[n:]
	}
	return nil
}

// putCode stores the value of a key's last digit in a row and returns the key without it.
func (r *columnReader) putCode(c *Column, row unsafe.Pointer, key uint64) uint64 {
	code := key % r.codes()
	if code == 0 {
		return key / r.codes()
	}
	switch values := &r.Dictionary; c.Type {
	case TypeBool:
		put(c, row, values.Bools[code-1])
	case TypeInt32:
		put(c, row, values.Int32s[code-1])
	case TypeInt64:
		put(c, row, values.Int64s[code-1])
	default:
		put(c, row, values.Strings[code-1])
	}
	return key / r.codes()
}

// keyCounts counts keys. The zero keyCounts is empty.
type keyCounts struct {
	counts map[uint64]*uint64
	recent [256]keyCount // finds most counts without hashing: rows repeat the same few keys
}

type keyCount struct {
	key   uint64
	count *uint64
}

func (c *keyCounts) of(key uint64) *uint64 {
	recent := &c.recent[key*0x9e3779b97f4a7c15>>56] // an odd number without a pattern spreads keys that are alike
	if recent.count != nil && recent.key == key {
		return recent.count
	}
	if c.counts == nil {
		c.counts = make(map[uint64]*uint64)
	}
	count := c.counts[key]
	if count == nil {
		count = new(uint64)
		c.counts[key] = count
	}
	*recent = keyCount{key, count}
	return count
}
