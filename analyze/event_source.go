package analyze

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/trace"
)

// eventSource is what streams of one question have in common.
type eventSource struct {
	query    *Query
	readers  []*messageReader // one for each goroutine
	damaged  *scan.Damages
	prune    func(begin, end int64) bool // groups that need not be read; nil: none
	progress *scan.Progress              // set before reading
}

func newEventSource(q *Query, wanted *wantedMessages, damaged *scan.Damages) *eventSource {
	s := &eventSource{query: q, readers: make([]*messageReader, scan.MaxWorkers()), damaged: damaged}
	for i := range s.readers {
		s.readers[i] = newMessageReader(q, wanted)
	}
	return s
}

// newStream prepares the stream of a table: rows of type R become events by convert, which gives nil for what is not
// wanted, and happened at a time. times are the columns that bound it.
func newStream[R, E any](ctx context.Context, source *eventSource, table string, times []string, selection trace.Selection,
	convert func(*messageReader, *R, int) *E, at func(*E) int64) (stream[E], error) {
	groups, err := source.query.tableGroups(ctx, table, times, selection, source.prune)
	if err != nil {
		return stream[E]{}, err
	}
	lists := new(timedLists[E])
	return stream[E]{groups: groups, lists: lists, read: func(ctx context.Context, worker int, g tableGroup) (events []timed[E], err error) {
		reader := source.readers[worker]
		reader.publications.begin(g.Rows())
		reader.executions.begin(g.Rows())
		err = trace.ScanGroup(ctx, table, g.Group, selection, func(rows []R) error {
			for i := range rows {
				if e := convert(reader, &rows[i], g.dataset); e != nil {
					if events == nil && selection == nil {
						events = lists.take(min(g.Rows(), windowRows)) // most rows are wanted
					}
					events = append(events, timed[E]{at(e), e})
				}
			}
			return source.query.unknown.Err()
		})
		source.progress.Add(g.Rows())
		return events, source.damaged.Add(err)
	}}, nil
}
