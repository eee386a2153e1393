package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/report"
)

// lookedAt is the number of times that are looked at closely.
const lookedAt = 12

// widestLevel is the number of tiles of the widest level that is added: a recording of callbacks that overlap for long
// has levels that say nothing new.
const widestLevel = 4096

// worstShare is the share of the budget, in percent, up to which exact tiles are added before those of whole levels.
const worstShare = 80

// durationText is a duration as tables show it.
func durationText(nanoseconds int64) string { return report.Duration(nanoseconds) }

// addTiles adds the upper levels of tiles, level by level, and the exact tiles of what was worst.
func (r *reportAnswers) addTiles(ctx context.Context) error {
	added := make(map[tile]bool)
	add := func(t tile, share int) (bool, error) {
		if added[t] {
			return true, nil
		}
		asking, lacks := warningIn(ctx)
		answer, err := r.view.tile(asking, t)
		if err != nil {
			return false, err
		}
		done, err := r.offer(newKey("tile", fmt.Sprint(t.level), fmt.Sprint(t.index)), answer, lacks, share)
		if done {
			added[t] = true
			r.summary.Tiles++
		}
		return done, err
	}
	x, err := r.view.readIndex(ctx)
	if err != nil {
		return err
	}
	if _, err := add(r.view.newTile(0, 0), 100); err != nil {
		return err
	}
	slices.SortStableFunc(r.worst, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.weight, a.weight))
	})
	for _, worst := range r.worst[:min(len(r.worst), lookedAt)] {
		if _, err := add(r.view.exactAt(x, worst.at), worstShare); err != nil {
			return err
		}
	}
	// Below an exact tile nothing finer is to be had.
	whole := []tile{r.view.newTile(0, 0)}
	for level := int64(0); len(whole) > 0 && len(whole) <= widestLevel && level <= int64(r.view.levels()); level++ {
		var next []tile
		for _, t := range whole {
			done, err := add(t, 100)
			if err != nil || !done {
				return err
			}
			if !x.isExact(t) {
				next = append(next, r.view.newTile(level+1, 2*t.index), r.view.newTile(level+1, 2*t.index+1))
			}
		}
		r.summary.Level = int(level)
		whole = next
	}
	return nil
}

// exactAt returns the highest exact tile that a time is in, or the deepest one.
func (v *View) exactAt(x *index, at int64) tile {
	t := v.newTile(0, 0)
	for level := int64(1); !x.isExact(t) && level <= int64(v.levels()); level++ {
		left := v.newTile(level, 2*t.index)
		if t = left; at > left.end {
			t = v.newTile(level, left.index+1)
		}
	}
	return t
}
