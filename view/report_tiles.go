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

// addTiles adds the upper levels of tiles, level by level, and the exact tiles of what was worst, with the times off
// the CPU in them. Those of other exact tiles come last.
func (r *reportAnswers) addTiles(ctx context.Context) error {
	x, err := r.view.readIndex(ctx)
	if err != nil {
		return err
	}
	tiles := &reportTiles{reportAnswers: r, index: x, added: make(map[tile]bool), explained: make(map[tile]bool)}
	if _, err := tiles.add(ctx, r.view.newTile(0, 0), 100); err != nil {
		return err
	}
	slices.SortStableFunc(r.worst, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.weight, a.weight))
	})
	for _, worst := range r.worst[:min(len(r.worst), lookedAt)] {
		t := r.view.exactAt(x, worst.at)
		if _, err := tiles.add(ctx, t, worstShare); err != nil {
			return err
		}
		if _, err := tiles.explain(ctx, t, worstShare); err != nil {
			return err
		}
	}
	if done, err := tiles.addLevels(ctx); err != nil || !done {
		return err
	}
	for _, t := range tiles.inOrder {
		if done, err := tiles.explain(ctx, t, 100); err != nil || !done {
			return err
		}
	}
	return nil
}

// reportTiles are the tiles that a report has.
type reportTiles struct {
	*reportAnswers
	index   *index
	added   map[tile]bool
	inOrder []tile
	// explained are those that have their times off the CPU.
	explained map[tile]bool
}

// add adds a tile if there is room for it within a share of the budget, in percent.
func (r *reportTiles) add(ctx context.Context, t tile, share int) (done bool, err error) {
	if r.added[t] {
		return true, nil
	}
	asking, lacks := warningIn(ctx)
	answer, err := r.view.tile(asking, t)
	if err != nil {
		return false, err
	}
	done, err = r.offer(newKey("tile", fmt.Sprint(t.level), fmt.Sprint(t.index)), answer, lacks, share)
	if done {
		r.added[t] = true
		r.inOrder = append(r.inOrder, t)
		r.summary.Tiles++
	}
	return done, err
}

// explain adds the times off the CPU in an exact tile that was added. done is false where there is no room for them.
func (r *reportTiles) explain(ctx context.Context, t tile, share int) (done bool, err error) {
	if !r.hasOffCPU || r.explained[t] || !r.added[t] || !r.index.isExact(t) {
		return true, nil
	}
	asking, lacks := warningIn(ctx)
	answer, err := r.view.offCPU(asking, t)
	if err != nil {
		return false, err
	}
	done, err = r.offer(newKey("offcpu", fmt.Sprint(t.level), fmt.Sprint(t.index)), answer, lacks, share)
	r.explained[t] = done
	return done, err
}

// addLevels adds whole levels. done is false where there is no room for one.
func (r *reportTiles) addLevels(ctx context.Context) (done bool, err error) {
	// Below an exact tile nothing finer is to be had.
	whole := []tile{r.view.newTile(0, 0)}
	for level := int64(0); len(whole) > 0 && len(whole) <= widestLevel && level <= int64(r.view.levels()); level++ {
		var next []tile
		for _, t := range whole {
			if done, err := r.add(ctx, t, 100); err != nil || !done {
				return false, err
			}
			if !r.index.isExact(t) {
				next = append(next, r.view.newTile(level+1, 2*t.index), r.view.newTile(level+1, 2*t.index+1))
			}
		}
		r.summary.Level = int(level)
		whole = next
	}
	return true, nil
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
