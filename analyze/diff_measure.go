package analyze

import (
	"context"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// measured names an entity or a latency in a way that is the same from run to run.
type measured struct {
	kind, name string
}

// The kinds of latencies that Diff compares. Their names are what Lasting says.
const (
	ComparedCallback      = "callback"
	ComparedCommunication = "communication"
)

// measuredSide is what Diff compares: what the recordings of one side have.
type measuredSide struct {
	entities  map[measured]int // in how many recordings they are
	latencies map[measured][]significance.Median
	warnings  []string
}

func measureAll(ctx context.Context, datasets []*trace.Dataset, progress func(read, total int64)) (*measuredSide, error) {
	side := &measuredSide{entities: make(map[measured]int), latencies: make(map[measured][]significance.Median)}
	for _, d := range datasets {
		if err := side.measure(ctx, d, progress); err != nil {
			return nil, fmt.Errorf("measure %s: %w", d.Dir(), err)
		}
	}
	return side, nil
}

// measure adds a recording. Only the medians of its latencies stay in memory.
func (m *measuredSide) measure(ctx context.Context, d *trace.Dataset, progress func(read, total int64)) error {
	query, err := NewQuery(ctx, Filter{}, d)
	if err != nil {
		return err
	}
	query.Progress = progress
	defer func() { m.warnings = append(m.warnings, query.Warnings...) }()
	span, ok, err := query.TimeSpan(ctx)
	if err != nil || !ok {
		return err
	}
	for of := range comparedEntities(query.Architecture) {
		m.entities[of]++
	}
	callbacks, err := query.callbackSeries(ctx, span)
	if err != nil {
		return err
	}
	m.addMedians(callbacks)
	communications, err := query.communicationSeries(ctx, span)
	if err != nil {
		return err
	}
	m.addMedians(communications)
	return nil
}

func (m *measuredSide) addMedians(of map[measured]*significance.Series) {
	for name, series := range of {
		m.latencies[name] = append(m.latencies[name], series.Median())
	}
}

// callbackSeries gathers the durations of all callbacks.
func (q *Query) callbackSeries(ctx context.Context, span trace.Span) (map[measured]*significance.Series, error) {
	states := make([]*executions, scan.MaxWorkers())
	gathered := make([]*seriesBy[*system.Callback], len(states))
	for i := range states {
		gathered[i] = newSeriesBy[*system.Callback](span)
		states[i] = newExecutions(q, nil)
		states[i].durations = gathered[i].add
	}
	if err := q.scanExecutions(ctx, states, scan.InParallel); err != nil {
		return nil, err
	}
	return named(gathered, func(c *system.Callback) measured {
		label := LabelOf(c)
		return measured{ComparedCallback, label.Lasting()}
	}), nil
}

// communicationSeries gathers the durations of all communications.
func (q *Query) communicationSeries(ctx context.Context, span trace.Span) (map[measured]*significance.Series, error) {
	gathered := newSeriesBy[routeBy](span)
	err := q.scanPassages(ctx, func(p passage) {
		if latency := p.latency(); latency.Valid {
			gathered.add(p.by(), p.departure.at, latency.Value)
		}
	}, func() error { return nil })
	if err != nil {
		return nil, err
	}
	return named([]*seriesBy[routeBy]{gathered}, func(by routeBy) measured {
		label := labelOfRoute(by.publisher, by.subscription, by.transport)
		return measured{ComparedCommunication, label.Lasting()}
	}), nil
}

// seriesBy are the durations of a recording by what they are of.
type seriesBy[K comparable] struct {
	span trace.Span
	of   map[K]*significance.Series
}

func newSeriesBy[K comparable](span trace.Span) *seriesBy[K] {
	return &seriesBy[K]{span: span, of: make(map[K]*significance.Series)}
}

func (s *seriesBy[K]) add(of K, at, duration int64) {
	series := s.of[of]
	if series == nil {
		series = significance.NewSeries(s.span.First, s.span.Last)
		s.of[of] = series
	}
	series.Add(at, duration)
}

// named merges the series of several goroutines, and those with the same name.
func named[K comparable](parts []*seriesBy[K], name func(K) measured) map[measured]*significance.Series {
	merged := make(map[measured]*significance.Series)
	for _, part := range parts {
		for of, series := range part.of {
			by := name(of)
			if into := merged[by]; into != nil {
				into.Merge(series)
			} else {
				merged[by] = series
			}
		}
	}
	return merged
}

// Lasting names a callback by what is the same from run to run: node, kind, topic or period, and symbol.
func (l *CallbackLabel) Lasting() string {
	return fmt.Sprintf("%s %s %s", l.Node, describeTrigger(l.Kind, l.Topic, l.Period), l.Symbol)
}

// Lasting names a communication by what is the same from run to run.
func (l *CommunicationLabel) Lasting() string {
	return fmt.Sprintf("%s %s → %s (%s)", l.Topic, l.PublisherNode, l.SubscriptionNode, l.Transport)
}

func describeTrigger(kind trace.CallbackKind, topic string, period trace.Optional[int64]) string {
	if period.Valid {
		return fmt.Sprintf("%s %d ns", kind, period.Value)
	}
	return fmt.Sprintf("%s %s", kind, topic)
}

// comparedEntities names the entities that are compared.
func comparedEntities(a *system.Architecture) map[measured]bool {
	entities := make(map[measured]bool)
	for _, n := range a.Nodes {
		if n.Name == "" {
			continue
		}
		entities[measured{"node", n.Name}] = true
		for _, p := range n.Publishers {
			entities[measured{"publisher", n.Name + " " + p.TopicName}] = true
		}
		for _, s := range n.Subscriptions {
			entities[measured{"subscription", n.Name + " " + s.TopicName}] = true
		}
		for _, s := range n.Services {
			entities[measured{"service", n.Name + " " + s.ServiceName}] = true
		}
		for _, c := range n.Clients {
			entities[measured{"client", n.Name + " " + c.ServiceName}] = true
		}
		for _, t := range n.Timers {
			entities[measured{"timer", n.Name + " " + describeTrigger(trace.KindTimer, "", t.Period)}] = true
		}
	}
	return entities
}
