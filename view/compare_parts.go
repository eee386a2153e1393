package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Sides of a comparison: the baseline, and what is shown.
const (
	sideA = "a"
	sideB = "b"
)

// sidedTable are the answers of a command to two sides, in one table: rows of the same thing stand together, those of
// the baseline first.
type sidedTable struct {
	*report.JSONRows
	// Sides tells for each row of which side it is, Things what it is of: rows of the same thing have the same number.
	Sides  []string `json:"sides"`
	Things []int    `json:"things"`
	// IDs are the callbacks of the rows; null for one that what is shown has not.
	IDs []*int32 `json:"ids,omitempty"`
}

// sidedRow is a row of one side, of the thing of a number.
type sidedRow[T any] struct {
	side  string
	thing int
	row   *T
}

// sideBySide puts rows together by what is the same on both sides, in the order of the second side. What only the first
// side has comes last.
func sideBySide[T any](before, after []T, same func(*T) string) (all []sidedRow[T]) {
	things := make(map[string]int)
	add := func(side string, rows []T) {
		for i := range rows {
			name := same(&rows[i])
			if _, known := things[name]; !known {
				things[name] = len(things)
			}
			all = append(all, sidedRow[T]{side, things[name], &rows[i]})
		}
	}
	add(sideB, after)
	add(sideA, before)
	slices.SortStableFunc(all, func(x, y sidedRow[T]) int {
		return cmp.Or(cmp.Compare(x.thing, y.thing), cmp.Compare(x.side, y.side))
	})
	return all
}

// newSidedTable is nil where neither side tells anything.
func newSidedTable[T any](all []sidedRow[T]) (*sidedTable, error) {
	if len(all) == 0 {
		return nil, nil
	}
	t := new(sidedTable)
	rows := make([]T, len(all))
	for i, one := range all {
		t.Sides, t.Things, rows[i] = append(t.Sides, one.side), append(t.Things, one.thing), *one.row
	}
	var err error
	t.JSONRows, err = report.NewJSONRows(rows)
	return t, err
}

// askSides asks both sides the same, one after the other, about everything: no filter is for the baseline.
func askSides[T any](ctx context.Context, v *View, ask func(*analyze.Query) ([]T, error)) (before, after []T, err error) {
	for _, side := range []struct {
		datasets []*trace.Dataset
		rows     *[]T
	}{{v.options.Baseline, &before}, {v.options.Datasets, &after}} {
		q, err := analyze.NewQuery(ctx, analyze.Filter{}, side.datasets...)
		if err != nil {
			return nil, nil, err
		}
		known := slices.Clone(q.Warnings) // the comparison of latencies tells them
		if *side.rows, err = ask(q); err != nil && !errors.Is(err, analyze.ErrNoScheduling) && !errors.Is(err, analyze.ErrNothingSelected) {
			return nil, nil, err
		}
		warn(ctx, newWarnings(q, known))
	}
	return before, after, nil
}

// comparedCallbackParts are the answers of `latency callback --why` to both sides; nil without a baseline, and where
// neither side tells.
func (v *View) comparedCallbackParts(ctx context.Context) (*sidedTable, error) {
	if len(v.options.Baseline) == 0 {
		return nil, nil
	}
	before, after, err := askSides(ctx, v, func(q *analyze.Query) ([]analyze.CallbackParts, error) {
		parts, err := q.CallbackParts(ctx, nil)
		if err == nil {
			err = report.Sort(parts, longestFirst, nil)
		}
		return parts, err
	})
	if err != nil {
		return nil, err
	}
	all := sideBySide(before, after, func(p *analyze.CallbackParts) string { return p.Lasting() })
	t, err := newSidedTable(all)
	if t == nil || err != nil {
		return nil, err
	}
	callbacks, err := v.lastingCallbacks(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		t.IDs = append(t.IDs, found(callbacks, one.row.Lasting(), true))
	}
	return t, nil
}

// comparedPathParts are the answers of `latency path --why` to both sides, by the texts of paths. A path that one side
// does not have has the rows of the other one; it has none without a baseline, and where neither side tells.
func (v *View) comparedPathParts(ctx context.Context, texts []string) (map[string]*sidedTable, error) {
	if len(v.options.Baseline) == 0 {
		return nil, nil
	}
	before, after, err := askSides(ctx, v, func(q *analyze.Query) ([]analyze.PathParts, error) {
		if err := errors.Join(q.LoadActivity(ctx), v.options.Paths.Adopt(q)); err != nil {
			return nil, err
		}
		paths, err := v.pathsThere(ctx, q, texts)
		if err != nil || len(paths) == 0 {
			return nil, err
		}
		return v.pathParts(ctx, q, paths)
	})
	if err != nil {
		return nil, err
	}
	all := make(map[string]*sidedTable)
	for _, text := range texts {
		is := func(p *analyze.PathParts) bool { return p.Path == text }
		t, err := newSidedTable(sideBySide(ofPath(before, is), ofPath(after, is), func(p *analyze.PathParts) string {
			return fmt.Sprint(p.Hop, p.Kind, p.Name)
		}))
		if err != nil {
			return nil, err
		}
		if t != nil {
			all[text] = t
		}
	}
	return all, nil
}

// pathsThere are the paths of those texts that a system has, and of which it is known how messages get along them.
func (v *View) pathsThere(ctx context.Context, q *analyze.Query, texts []string) (paths []*system.Path, err error) {
	for _, text := range texts {
		found, err := v.options.Paths.Find(ctx, q, []string{text}, "", "")
		if errors.Is(err, system.ErrNoSuchName) || errors.Is(err, analyze.ErrNothingSelected) {
			continue
		}
		if err != nil {
			return nil, err
		}
		paths = system.AddPaths(paths, slices.DeleteFunc(found, func(p *system.Path) bool {
			return p.UndefinedNodes() > 0 && !v.options.Paths.Options().Latest
		}))
	}
	return paths, nil
}
