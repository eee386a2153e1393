package summary

import (
	"context"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/trace"
)

// hitTable says which columns of a table are null unless a tracepoint was hit.
type hitTable struct {
	table   string
	columns []hitColumn
	// count adds to counts, one for each column, the hits of a group whose time is asked for.
	count func(ctx context.Context, s *summarizer, g *trace.Group, counts []uint64) error
}

type hitColumn struct{ column, tracepoint string }

var hitTables = []hitTable{
	{trace.TableCallback, []hitColumn{
		{"callback_start_timestamp", "callback_start"},
		{"callback_end_timestamp", "callback_end"},
		{"rmw_take_timestamp", "rmw_take"},
		{"dequeue_timestamp", "rclcpp_ring_buffer_dequeue"},
	}, countHits(trace.TableCallback, func(row *struct {
		Start   trace.Optional[int64] `column:"callback_start_timestamp"`
		End     trace.Optional[int64] `column:"callback_end_timestamp"`
		Take    trace.Optional[int64] `column:"rmw_take_timestamp"`
		Dequeue trace.Optional[int64] `column:"dequeue_timestamp"`
	}) []trace.Optional[int64] {
		return []trace.Optional[int64]{row.Start, row.End, row.Take, row.Dequeue}
	})},
	{trace.TablePublish, []hitColumn{
		{"rclcpp_intra_publish_timestamp", "rclcpp_intra_publish"},
		{"rclcpp_publish_timestamp", "rclcpp_publish"},
		{"rcl_publish_timestamp", "rcl_publish"},
		{"rmw_publish_timestamp", "dds_write"},
		{"dds_bind_addr_to_stamp_timestamp", "dds_bind_addr_to_stamp"},
	}, countHits(trace.TablePublish, func(row *struct {
		Intra  trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
		Rclcpp trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
		Rcl    trace.Optional[int64] `column:"rcl_publish_timestamp"`
		RMW    trace.Optional[int64] `column:"rmw_publish_timestamp"`
		Bound  trace.Optional[int64] `column:"dds_bind_addr_to_stamp_timestamp"`
	}) []trace.Optional[int64] {
		return []trace.Optional[int64]{row.Intra, row.Rclcpp, row.Rcl, row.RMW, row.Bound}
	})},
	{trace.TableTake, []hitColumn{
		{"rmw_take_timestamp", "rmw_take"},
		{"dequeue_timestamp", "rclcpp_ring_buffer_dequeue"},
	}, countHits(trace.TableTake, func(row *struct {
		Take    trace.Optional[int64] `column:"rmw_take_timestamp"`
		Dequeue trace.Optional[int64] `column:"dequeue_timestamp"`
	}) []trace.Optional[int64] {
		return []trace.Optional[int64]{row.Take, row.Dequeue}
	})},
	{trace.TableEnqueue, []hitColumn{{"enqueue_timestamp", "rclcpp_ring_buffer_enqueue"}}, countHits(trace.TableEnqueue, func(row *struct {
		At int64 `column:"enqueue_timestamp"`
	}) []trace.Optional[int64] {
		return []trace.Optional[int64]{trace.Some(row.At)}
	})},
	{trace.TableLifecycle, []hitColumn{{"transition_timestamp", "rcl_lifecycle_transition"}}, countHits(trace.TableLifecycle, func(row *struct {
		At int64 `column:"transition_timestamp"`
	}) []trace.Optional[int64] {
		return []trace.Optional[int64]{trace.Some(row.At)}
	})},
	{trace.TableSimTime, []hitColumn{{"update_timestamp", "sim_time"}}, countHits(trace.TableSimTime, func(row *struct {
		At int64 `column:"update_timestamp"`
	}) []trace.Optional[int64] {
		return []trace.Optional[int64]{trace.Some(row.At)}
	})},
}

// countHits returns the count of a hitTable; times are those of the columns in a row.
func countHits[T any](table string, times func(*T) []trace.Optional[int64]) func(context.Context, *summarizer, *trace.Group, []uint64) error {
	return func(ctx context.Context, s *summarizer, g *trace.Group, counts []uint64) error {
		return trace.ScanGroup(ctx, table, g, nil, func(rows []T) error {
			for i := range rows {
				for column, at := range times(&rows[i]) {
					if at.Valid && s.covers(at.Value) {
						counts[column]++
					}
				}
			}
			return nil
		})
	}
}

// hits counts how often each tracepoint was hit: from the footers where they tell, else from the rows.
func (s *summarizer) hits(ctx context.Context) error {
	for i := range hitTables {
		of := &hitTables[i]
		counts := make([]uint64, len(of.columns))
		var partly []*trace.Group
		for _, g := range s.groups[of.table] {
			span, ok := scan.SpanOf(g, of.names())
			switch {
			case !s.result.Within.Valid || ok && s.covers(span.First) && s.covers(span.Last):
				for column, name := range of.names() {
					counts[column] += uint64(g.Values(name))
				}
			case ok && !s.misses(span):
				partly = append(partly, g)
			}
		}
		var mu sync.Mutex
		err := scan.InParallel(ctx, len(partly), func(ctx context.Context, _, i int) error {
			here := make([]uint64, len(counts))
			err := s.damages.Add(of.count(ctx, s, partly[i], here))
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
		for column, count := range counts {
			s.addTracepoint(of.table, of.columns[column].tracepoint, count)
		}
	}
	return nil
}

// names returns the names of the columns.
func (t *hitTable) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.column
	}
	return names
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
