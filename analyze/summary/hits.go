package summary

import (
	"context"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/trace"
)

// hits counts how often each tracepoint was hit, but for those that entities show: from the footers where they tell,
// else from the rows.
func (s *summarizer) hits(ctx context.Context) error {
	for _, table := range trace.Registry() {
		columns := hitColumns(table)
		if table.HasEntities() || len(columns) == 0 {
			continue
		}
		counts := make([]uint64, len(columns))
		var partly []*trace.Group
		for _, g := range s.groups[table.Name] {
			span, ok := scan.SpanOf(g, names(columns))
			switch {
			case !s.result.Within.Valid || ok && s.covers(span.First) && s.covers(span.Last):
				for i, c := range columns {
					counts[i] += uint64(g.Values(c.Name))
				}
			case ok && !s.misses(span):
				partly = append(partly, g)
			}
		}
		var mu sync.Mutex
		err := scan.InParallel(ctx, len(partly), func(ctx context.Context, _, i int) error {
			here := make([]uint64, len(counts))
			err := s.damages.Add(s.countHits(ctx, partly[i], columns, here))
			mu.Lock()
			defer mu.Unlock()
			for column, count := range here {
				counts[column] += count
			}
			return err
		})
		if err != nil {
			return err
		}
		for i, c := range columns {
			s.addTracepoint(table.Name, c.Tracepoint, counts[i])
		}
	}
	return nil
}

// hitColumns are the columns of a table whose values show hits.
func hitColumns(table *trace.Table) (columns []*trace.Column) {
	for i := range table.Columns {
		if c := &table.Columns[i]; c.Tracepoint != "" && !c.IsOffset() {
			columns = append(columns, c)
		}
	}
	return columns
}

func names(columns []*trace.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// countHits adds to counts, one for each column, the hits of a group in the time that is asked for.
func (s *summarizer) countHits(ctx context.Context, g *trace.Group, columns []*trace.Column, counts []uint64) error {
	for i, c := range columns {
		err := trace.ScanTimes(ctx, g, c.Name, func(times []int64) error {
			for _, at := range times {
				if s.covers(at) {
					counts[i]++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// probed tells whether the recording observed a tracepoint, as far as its plan says.
func (s *summarizer) probed(tracepoint string) bool {
	if tracepoint == "dds_write" {
		tracepoint = "rmw_publish" // its name in plans
	}
	return s.result.Session != nil && slices.ContainsFunc(s.result.Session.Plan.Sites, func(site trace.Site) bool { return site.Event == tracepoint })
}

// counted tells whether the hits of a tracepoint were found in a table.
func (s *summarizer) counted(tracepoint string) bool {
	return slices.ContainsFunc(s.result.Tracepoints, func(t Tracepoint) bool { return t.Tracepoint == tracepoint })
}

// restrict finds out which part of the recording is asked for.
func (s *summarizer) restrict(context.Context) error {
	if s.part == nil || !s.result.Span.Valid {
		return nil
	}
	part, err := s.part(s.result.Span.Value)
	s.result.Within = trace.Some(part)
	return err
}

// covers tells whether a time is asked for.
func (s *summarizer) covers(at int64) bool { return isWithin(&s.result.Within, at) }

// isWithin tells whether a time is in a span; null contains all.
func isWithin(span *trace.Optional[trace.Span], at int64) bool {
	return !span.Valid || at >= span.Value.First && at <= span.Value.Last
}

// misses tells whether nothing of a span is asked for.
func (s *summarizer) misses(span trace.Span) bool {
	within := &s.result.Within
	return within.Valid && (span.Last < within.Value.First || span.First > within.Value.Last)
}

// outside tells whether no row of a group has a time that is asked for.
func (s *summarizer) outside(table string, g *trace.Group) bool {
	if !s.result.Within.Valid {
		return false
	}
	span, ok := scan.SpanOf(g, spanColumns[table])
	return !ok || s.misses(span)
}
