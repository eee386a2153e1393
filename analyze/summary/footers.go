package summary

import (
	"context"

	"github.com/caret-bpf/caret-bpf/trace"
)

// spanColumns are the columns that tell when something happened in a traced process.
var spanColumns = map[string][]string{
	trace.TableCallback: {"callback_start_timestamp", "callback_end_timestamp"},
	trace.TablePublish:  {"rclcpp_intra_publish_timestamp", "rclcpp_publish_timestamp", "rcl_publish_timestamp", "rmw_publish_timestamp"},
	trace.TableTake:     {"rmw_take_timestamp", "dequeue_timestamp"},
	trace.TableEnqueue:  {"enqueue_timestamp"},
	trace.TableService:  {"step_timestamp"},
	trace.TableEvent:    {"event_timestamp"},
}

// footers reads what the footers of the segments tell: extents and span.
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
		t := Table{Name: name, Segments: len(segments), Unfinished: len(unfinished)}
		for _, segment := range segments {
			t.Bytes += segment.Bytes
		}
		groups, err := trace.Groups(ctx, s.dataset, name)
		if err := s.damages.Add(err); err != nil {
			return err
		}
		for _, g := range groups {
			t.Rows += uint64(g.Rows())
			s.extend(name, g)
		}
		s.groups[name] = groups
		s.result.Tables = append(s.result.Tables, t)
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
