package view

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// asking is a query that one goroutine uses at a time: a question takes all cores and much memory, so two at once would
// be no faster.
type asking struct {
	turn  chan struct{}
	query *analyze.Query
	// filter is what the view is about.
	filter analyze.Filter
	// known are the warnings that the answer recording has.
	known []string
}

func newAsking(ctx context.Context, options *Options) (*asking, error) {
	query, err := analyze.NewQuery(ctx, options.Filter, options.Datasets...)
	if err != nil {
		return nil, err
	}
	query.Progress = options.Progress
	return &asking{turn: make(chan struct{}, 1), query: query, filter: options.Filter, known: slices.Clone(query.Warnings)}, nil
}

// take waits for the turn and calls ask with the query of a filter.
func (a *asking) take(ctx context.Context, filter analyze.Filter, ask func(*analyze.Query) error) error {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.turn }()
	q := a.query.With(filter)
	err := ask(q)
	warn(ctx, newWarnings(q, a.known))
	return err
}

// newWarnings are those of a query that are not among the known ones.
func newWarnings(q *analyze.Query, known []string) (more []string) {
	for _, warning := range q.Warnings {
		if !slices.Contains(known, warning) {
			more = append(more, warning)
		}
	}
	return more
}

// all asks about everything that the view is about.
func (a *asking) all(ctx context.Context, ask func(*analyze.Query) error) error {
	return a.take(ctx, a.filter, ask)
}

// within asks about what begins in a time, both ends included, in Unix nanoseconds.
func (a *asking) within(ctx context.Context, from, to int64, ask func(*analyze.Query) error) error {
	filter := a.filter
	filter.From, filter.To = trace.Some(max(from, filter.From.Value)), trace.Some(min(to, filter.To.Value))
	return a.take(ctx, filter, ask)
}

// prepare waits for the turn and changes what is known of the system.
func (a *asking) prepare(ctx context.Context, change func(*analyze.Query) error) error {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.turn }()
	return change(a.query)
}
