package analyze

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
			span, ok := spanOf(g, times)
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

func spanOf(g *trace.Group, columns []string) (span trace.Span, ok bool) {
	for _, column := range columns {
		of, has := g.Span(column)
		if !has {
			continue
		}
		if !ok {
			span, ok = of, true
		}
		span.First, span.Last = min(span.First, of.First), max(span.Last, of.Last)
	}
	return span, ok
}

// maxWorkers is the number of goroutines that inParallel uses at most.
func maxWorkers() int { return runtime.GOMAXPROCS(0) }

// inParallel runs n tasks on as many goroutines as there are cores, and returns the first error. Each goroutine has a
// number, for what it reuses from task to task.
func inParallel(ctx context.Context, n int, task func(ctx context.Context, worker, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var once sync.Once
	var first error
	var workers sync.WaitGroup
	for worker := range min(maxWorkers(), n) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if err := task(ctx, worker, i); err != nil {
					once.Do(func() { first = err })
					cancel()
				}
			}
		})
	}
	workers.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
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

// progress counts the rows that were read.
type progress struct {
	read   atomic.Int64
	total  int64
	report func(read, total int64)
}

func (q *Query) newProgress(lists ...[]tableGroup) *progress {
	p := &progress{report: q.Progress}
	for _, groups := range lists {
		for _, g := range groups {
			p.total += g.Rows()
		}
	}
	return p
}

func (p *progress) add(rows int64) {
	read := p.read.Add(rows)
	if p.report != nil {
		p.report(read, p.total)
	}
}
