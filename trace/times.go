package trace

import (
	"context"
	"fmt"
	"unsafe"
)

// timeRow is a row of which only a time is read, with the time that it may be stored as the offset from.
type timeRow struct{ base, at Optional[int64] }

// ScanTimes passes on the values of a time column in a group, nulls left out, in batches. The slice is reused. A group
// that cannot be read to its end gives a DamageError after what was read.
func ScanTimes(ctx context.Context, g *Group, column string, each func(times []int64) error) error {
	columns, err := timeColumns(g.segment.of, column)
	if err != nil {
		return err
	}
	var times []int64
	return scanGroup(ctx, g, columns, nil, func(s *scanner[timeRow], f *segmentFile, indexes []int) error {
		s.each = func(rows []timeRow) error {
			times = times[:0]
			for i := range rows {
				if rows[i].at.Valid {
					times = append(times, rows[i].at.Value)
				}
			}
			return each(times)
		}
		return s.scanGroup(ctx, f, g.index, indexes)
	})
}

// timeColumns are the columns by which a timeRow is read.
func timeColumns(of *Table, column string) ([]Column, error) {
	put := func(name string, place uintptr) (Column, error) {
		c := of.Column(name)
		if c == nil || c.Type != TypeInt64 {
			return Column{}, fmt.Errorf("table %s has no time column %s", of.Name, name)
		}
		placed := *c
		placed.place, placed.present = place, unsafe.Offsetof(timeRow{}.at.Valid)
		return placed, nil
	}
	at, err := put(column, unsafe.Offsetof(timeRow{}.at))
	if err != nil || at.After == "" {
		return []Column{at}, err
	}
	base, err := put(at.After, unsafe.Offsetof(timeRow{}.base))
	if err != nil {
		return nil, err
	}
	offsets, err := at.offsets([]Column{base})
	return []Column{base, at, offsets}, err
}
