package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/trace"
)

// tableGroup is a row group of a dataset's table, with the time of its first row.
type tableGroup struct {
	*trace.Group
	dataset int
	begin   int64
}

// tableGroups lists the row groups of a table in all datasets, in the order of their begin by any of the time columns.
// Those that have no such time or can hold no selected row, and those that prune says of that they need not be read,
// are left out.
func (q *Query) tableGroups(ctx context.Context, table string, times []string, selection trace.Selection, prune func(begin, end int64) bool) ([]tableGroup, error) {
	var groups []tableGroup
	for i, d := range q.datasets {
		of, err := trace.Groups(ctx, d, table)
		if err := q.warnOfDamage(err); err != nil {
			return nil, err
		}
		for _, g := range of {
			span, ok := scan.SpanOf(g, times)
			if !ok || !g.MayHold(selection) {
				continue
			}
			begin, end := q.clocks[i].correct(span.First), q.clocks[i].correct(span.Last)
			if prune == nil || !prune(begin, end) {
				groups = append(groups, tableGroup{Group: g, dataset: i, begin: begin})
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b tableGroup) int { return cmp.Compare(a.begin, b.begin) })
	return groups, nil
}

// inOrder runs n tasks one after another, all as worker 0.
func inOrder(ctx context.Context, n int, task func(ctx context.Context, worker, i int) error) error {
	for i := range n {
		if err := task(ctx, 0, i); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (q *Query) newProgress(lists ...[]tableGroup) *scan.Progress {
	p := &scan.Progress{Report: q.Progress}
	for _, groups := range lists {
		for _, g := range groups {
			p.Total += g.Rows()
		}
	}
	return p
}
