package scan

import "github.com/caret-bpf/caret-bpf/trace"

// PublishTimes are the columns that tell when a publish happened.
var PublishTimes = []string{"rclcpp_intra_publish_timestamp", "rclcpp_publish_timestamp", "rcl_publish_timestamp", "rmw_publish_timestamp"}

// SpanOf returns the span of a row group by any of the columns; ok is false where it has none of them.
func SpanOf(g *trace.Group, columns []string) (span trace.Span, ok bool) {
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

// FirstTime returns the first of the times that is known, 0 where none is.
func FirstTime(times ...trace.Optional[int64]) int64 {
	for _, t := range times {
		if t.Valid {
			return t.Value
		}
	}
	return 0
}
