package trace

import (
	"bytes"
	"context"
	"fmt"
	"unsafe"

	"github.com/caret-bpf/caret-bpf/columnar"
)

// Selection picks the rows of which any condition is true. No condition selects every row.
type Selection []Condition

// Condition is true of a row whose column holds one of the addresses or, where Text is set, a text of which that is
// true. It is never true of null.
type Condition struct {
	// Column is of type Address, or a string where Text is set.
	Column    string
	Addresses Addresses
	// Text has to be safe for concurrent use.
	Text func(string) bool
}

// Addresses is a set of addresses.
type Addresses map[Address]bool

// MayHold tells whether the group may have a row that is selected, as far as its statistics tell.
func (g *Group) MayHold(s Selection) bool {
	for _, c := range s {
		if g.mayHold(c) {
			return true
		}
	}
	return len(s) == 0
}

func (g *Group) mayHold(c Condition) bool {
	if g.HasOnlyNull(c.Column) {
		return false
	}
	if c.Text != nil {
		return true
	}
	chunk := g.chunk(c.Column)
	if !chunk.Bounded {
		return len(c.Addresses) > 0
	}
	for address := range c.Addresses {
		// How far they are above the least: that is right for signed bounds, and for those of formats 1 and 2, which
		// are unsigned.
		if uint64(address)-uint64(chunk.Least) <= uint64(chunk.Greatest)-uint64(chunk.Least) {
			return true
		}
	}
	return false
}

// indexes are those of the conditions' columns in a file, −1 for those that it does not have.
func (s Selection) indexes(f *columnar.File) (indexes []int) {
	for _, c := range s {
		indexes = append(indexes, f.Leaf(c.Column))
	}
	return indexes
}

// selectGroup is scanGroup for the rows that are selected. The columns of T are opened when the first such row is
// found: where addresses lie scattered, the statistics rule few groups out, and the columns of the conditions are
// small.
func (s *scanner[T]) selectGroup(ctx context.Context, f *segmentFile, group int, indexes []int, selection Selection) error {
	selectors, closeSelectors, err := openSelectors(f, group, selection)
	defer closeSelectors()
	if err != nil {
		return err
	}
	var readers []columnReader
	closeReaders := func() {}
	defer func() { closeReaders() }()
	positions := make([]int32, 0, scanRows)
	passed := 0 // rows that the readers are behind
	return s.eachBatch(ctx, f.Groups[group].Rows, func(n int) error {
		positions, err = selectors.positions(positions[:0], n, passed)
		passed += n
		if err != nil || len(positions) == 0 {
			return err
		}
		if readers == nil {
			if readers, closeReaders, err = s.open(f, group, indexes); err != nil {
				return err
			}
		}
		rows := s.rows[:len(positions)]
		clear(rows)
		for i := range readers {
			if readers[i].IsMissing() {
				continue
			}
			if err := gather(rows, positions, passed, &s.columns[i], &readers[i]); err != nil {
				return fmt.Errorf("column %s: %w", s.columns[i].Name, err)
			}
		}
		passed = 0
		s.stop = s.each(rows)
		return nil
	})
}

// selectors are those of a selection's conditions.
type selectors struct {
	conditions []selector
	marks      [scanRows]bool
}

func openSelectors(f *segmentFile, group int, selection Selection) (_ *selectors, closeAll func(), err error) {
	s := &selectors{conditions: make([]selector, len(selection))}
	closeAll = func() {
		for i := range s.conditions {
			s.conditions[i].Close()
		}
	}
	columns := make([]Column, len(selection))
	for i, c := range selection {
		columns[i] = Column{Name: c.Column, Type: TypeInt64, Nullable: true}
		if c.Text != nil {
			columns[i].Type = TypeString
		}
	}
	indexes, err := locate(f.File, columns)
	if err != nil {
		return nil, closeAll, err
	}
	for i, index := range indexes {
		s.conditions[i].condition = selection[i]
		if index < 0 {
			continue
		}
		if err := s.conditions[i].open(f, group, index, new(columnar.Interner)); err != nil {
			return nil, closeAll, fmt.Errorf("column %s: %w", selection[i].Column, err)
		}
	}
	return s, closeAll, nil
}

// positions appends which of the next n rows are selected, counted from first.
func (s *selectors) positions(positions []int32, n, first int) ([]int32, error) {
	marks := s.marks[:n]
	clear(marks)
	for i := range s.conditions {
		if s.conditions[i].IsMissing() {
			continue
		}
		if err := s.conditions[i].mark(marks); err != nil {
			return nil, err
		}
	}
	for i, marked := range marks {
		if marked {
			positions = append(positions, int32(first+i))
		}
	}
	return positions, nil
}

// selector finds the rows of a group that a condition selects.
type selector struct {
	columnReader
	condition Condition
	// listed says of which values of the dictionary the condition is true.
	listed []bool
}

// mark sets those of the next rows that the condition selects.
func (s *selector) mark(rows []bool) (err error) {
	defer columnar.ContainPanic(&err)
	for len(rows) > 0 {
		if s.Rows == 0 {
			if err := s.NextPage(); err != nil {
				return err
			}
			s.list()
			continue
		}
		n := min(len(rows), s.Rows)
		s.markPage(rows[:n])
		rows = rows[n:]
		s.Rows -= n
	}
	return nil
}

// list looks the values of a dictionary up once for all rows.
func (s *selector) list() {
	if s.Indexes == nil || s.listed != nil {
		return
	}
	s.listed = make([]bool, 0, s.DictionarySize)
	for _, v := range s.Values.Int64s {
		s.listed = append(s.listed, s.condition.Addresses[Address(v)])
	}
	for _, v := range s.Values.Strings {
		s.listed = append(s.listed, s.condition.Text(v))
	}
}

func (s *selector) markPage(rows []bool) {
	used := 0
	for i := range rows {
		if s.Levels != nil && s.Levels[i] == 0 {
			continue
		}
		switch {
		case s.Indexes != nil:
			rows[i] = rows[i] || s.listed[s.Indexes[used]]
		case s.condition.Text != nil:
			rows[i] = rows[i] || s.condition.Text(s.Values.Strings[used])
		default:
			rows[i] = rows[i] || s.condition.Addresses[Address(s.Values.Int64s[used])]
		}
		used++
	}
	if s.Levels != nil {
		s.Levels = s.Levels[len(rows):]
	}
	switch {
	case s.Indexes != nil:
		s.Indexes = s.Indexes[used:]
	case s.condition.Text != nil:
		s.Values.Strings = s.Values.Strings[used:]
	default:
		s.Values.Int64s = s.Values.Int64s[used:]
	}
}

// gather reads a column of the next n rows of the file: rows gets those at the positions, and holds their zero value
// before.
func gather[T any](rows []T, positions []int32, n int, c *Column, r *columnReader) (err error) {
	defer columnar.ContainPanic(&err)
	for base := 0; base < n; {
		if r.Rows == 0 {
			if err := r.NextPage(); err != nil {
				return err
			}
			continue
		}
		read := min(n-base, r.Rows)
		here := 0
		for here < len(positions) && int(positions[here]) < base+read {
			here++
		}
		part := pagePart{base: base, rows: read, positions: positions[:here]}
		switch c.Type {
		case TypeBool:
			r.Values.Bools = gatherPage(c, rows, part, r, r.Values.Bools)
		case TypeInt32:
			r.Values.Int32s = gatherPage(c, rows, part, r, r.Values.Int32s)
		case TypeInt64:
			r.Values.Int64s = gatherPage(c, rows, part, r, r.Values.Int64s)
		default:
			r.Values.Strings = gatherPage(c, rows, part, r, r.Values.Strings)
		}
		rows, positions = rows[here:], positions[here:]
		base += read
		r.Rows -= read
	}
	return nil
}

// pagePart is the unread rows of a page that are read together; positions count from base rows before the first.
type pagePart struct {
	base, rows int
	positions  []int32
}

// gatherPage is store for the rows at some positions only.
func gatherPage[T, V any](c *Column, rows []T, part pagePart, r *columnReader, values []V) []V {
	take := func(row *T, at int) {
		if r.Indexes != nil {
			at = int(r.Indexes[at])
		}
		put(c, unsafe.Pointer(row), values[at])
	}
	used := part.rows
	if r.Levels == nil {
		for i, position := range part.positions {
			take(&rows[i], int(position)-part.base)
		}
	} else {
		levels := r.Levels[:part.rows]
		used = len(levels) - bytes.Count(levels, []byte{0})
		before, next := 0, 0 // values of the levels before next
		for i, position := range part.positions {
			at := int(position) - part.base
			switch {
			case used == 0:
				continue
			case used == len(levels):
				before = at
			default:
				for ; next < at; next++ {
					before += int(min(levels[next], 1))
				}
			}
			if levels[at] != 0 {
				take(&rows[i], before)
			}
		}
		r.Levels = r.Levels[part.rows:]
	}
	if r.Indexes != nil {
		r.Indexes = r.Indexes[used:]
		return values
	}
	return values[used:]
}
