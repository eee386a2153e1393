package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/trace"
)

// hitColumns says which columns of a table are null unless a tracepoint was hit.
var hitColumns = []struct {
	table, column, tracepoint string
}{
	{trace.TableCallback, "callback_start_timestamp", "callback_start"},
	{trace.TableCallback, "callback_end_timestamp", "callback_end"},
	{trace.TableCallback, "rmw_take_timestamp", "rmw_take"},
	{trace.TableCallback, "dequeue_timestamp", "rclcpp_ring_buffer_dequeue"},
	{trace.TablePublish, "rclcpp_intra_publish_timestamp", "rclcpp_intra_publish"},
	{trace.TablePublish, "rclcpp_publish_timestamp", "rclcpp_publish"},
	{trace.TablePublish, "rcl_publish_timestamp", "rcl_publish"},
	{trace.TablePublish, "rmw_publish_timestamp", "dds_write"},
	{trace.TablePublish, "dds_bind_addr_to_stamp_timestamp", "dds_bind_addr_to_stamp"},
	{trace.TableTake, "rmw_take_timestamp", "rmw_take"},
	{trace.TableTake, "dequeue_timestamp", "rclcpp_ring_buffer_dequeue"},
	{trace.TableEnqueue, "enqueue_timestamp", "rclcpp_ring_buffer_enqueue"},
	{trace.TableLifecycle, "transition_timestamp", "rcl_lifecycle_transition"},
	{trace.TableSimTime, "update_timestamp", "sim_time"},
}

// spanColumns are the columns that tell when something happened in a traced process.
var spanColumns = map[string][]string{
	trace.TableCallback: {"callback_start_timestamp", "callback_end_timestamp"},
	trace.TablePublish:  {"rclcpp_intra_publish_timestamp", "rclcpp_publish_timestamp", "rcl_publish_timestamp", "rmw_publish_timestamp"},
	trace.TableTake:     {"rmw_take_timestamp", "dequeue_timestamp"},
	trace.TableEnqueue:  {"enqueue_timestamp"},
	trace.TableService:  {"step_timestamp"},
	trace.TableEvent:    {"event_timestamp"},
}

// footers reads what the footers of the segments tell: extents, span, and how often each tracepoint was hit.
func (s *summarizer) footers(ctx context.Context) error {
	names, err := s.dataset.Tables()
	if err != nil {
		return err
	}
	for _, name := range names {
		segments, unfinished, err := s.dataset.Segments(name)
		if err != nil {
			return err
		}
		t := TableSummary{Name: name, Segments: len(segments), Unfinished: len(unfinished)}
		for _, segment := range segments {
			t.Bytes += segment.Bytes
		}
		groups, err := trace.Groups(ctx, s.dataset, name)
		if err := s.damages.add(err); err != nil {
			return err
		}
		for _, g := range groups {
			t.Rows += uint64(g.Rows())
			s.extend(name, g)
		}
		s.groups[name] = groups
		s.result.Tables = append(s.result.Tables, t)
	}
	for _, hit := range hitColumns {
		var count uint64
		for _, g := range s.groups[hit.table] {
			count += uint64(g.Values(hit.column))
		}
		if count > 0 {
			s.result.Tracepoints = append(s.result.Tracepoints, TracepointSummary{Tracepoint: hit.tracepoint, Table: hit.table, Count: count})
		}
	}
	return nil
}

// extend makes the summary's span contain that of a row group.
func (s *summarizer) extend(table string, g *trace.Group) {
	for _, column := range spanColumns[table] {
		span, ok := g.Span(column)
		if !ok {
			continue
		}
		if !s.result.Span.Valid {
			s.result.Span = trace.Some(span)
		}
		s.result.Span.Value.First = min(s.result.Span.Value.First, span.First)
		s.result.Span.Value.Last = max(s.result.Span.Value.Last, span.Last)
	}
}
