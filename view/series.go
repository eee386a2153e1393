package view

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/rank"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// exactInstances is the number of instances that a series has one by one at most.
	exactInstances = 4000
	// seriesBuckets is the number of parts of the time of one that has more.
	seriesBuckets = 1000
	// missingInstances is the number of instances without a value that a series has at most.
	missingInstances = 1000
	// histogramBins is the number of bins of the values that are not far from the others.
	histogramBins = 60
)

// series is how a measure of one subject went.
type series struct {
	Exact bool `json:"exact"`
	// At are the times of the instances, or the begins of the buckets if there are too many instances. Values are those of
	// the instances.
	At     []int64   `json:"t"`
	Values []float64 `json:"v,omitempty"`
	*buckets
	// Missing are the times of instances without a value, the first of MissingTotal.
	Missing      []int64          `json:"missing"`
	MissingTotal int              `json:"missingTotal"`
	Histogram    histogram        `json:"histogram"`
	Statistics   seriesStatistics `json:"statistics"`
}

// buckets describe the instances of equal parts of the time; values are null where there is no instance.
type buckets struct {
	Length int64      `json:"bucket"`
	Count  []int      `json:"count"`
	Min    []*float64 `json:"min"`
	P50    []*float64 `json:"p50"`
	Max    []*float64 `json:"max"`
}

// histogram has one more edge than counts. A value at an edge counts above it, at the last edge below.
type histogram struct {
	Edges  []float64 `json:"edges"`
	Counts []int     `json:"counts"`
}

// seriesStatistics are as those of the commands; all but the count are null without a value.
type seriesStatistics struct {
	Count int      `json:"count"`
	Min   *float64 `json:"min"`
	Mean  *float64 `json:"mean"`
	P50   *float64 `json:"p50"`
	P90   *float64 `json:"p90"`
	P99   *float64 `json:"p99"`
	Max   *float64 `json:"max"`
}

func (v *View) series(ctx context.Context, k key) (*series, error) {
	from, to, err := v.times(k)
	if err != nil {
		return nil, err
	}
	id, err := k.number("id", math.MaxInt32)
	if err != nil {
		return nil, err
	}
	subject, measure := k.value("subject"), k.value("measure")
	if !hasMeasure(subject, measure) {
		return nil, fmt.Errorf("%w: series are latency, period and frequency of a callback or a communication, and period and frequency of a topic", ErrBadKey)
	}
	c, err := v.collectOne(ctx, subject, measure, id, from, to)
	if err != nil {
		return nil, err
	}
	return v.newSeries(c, from, to), nil
}

// hasMeasure tells whether a subject has a measure.
func hasMeasure(subject, measure string) bool {
	switch subject {
	case ofCallback, ofCommunication:
		return measure == latencyMeasure || measure == periodMeasure || measure == frequencyMeasure
	case ofTopic:
		return measure == periodMeasure || measure == frequencyMeasure
	}
	return false
}

// collectOne collects the instances of one subject. The question is narrowed, so that little else is read.
func (v *View) collectOne(ctx context.Context, subject, measure string, id, from, to int64) (*collected, error) {
	filter := v.options.Filter
	filter.From, filter.To = trace.Some(from), trace.Some(to)
	switch subject {
	case ofCallback:
		label, err := v.callbackLabel(ctx, int32(id))
		if err != nil {
			return nil, err
		}
		filter.Nodes = exactly(label.Node)
		if measure == latencyMeasure {
			c := wanting([]analyze.CallbackLabel{label})
			err := v.plain.take(ctx, filter, func(q *analyze.Query) error { return callbackSeries(ctx, q, c) })
			return c[label], err
		}
		return v.collectPeriodic(ctx, filter, analyze.Callbacks, measure, periodicOfCallback(label))
	case ofCommunication:
		rows, err := v.communicationLatencies(ctx)
		if err != nil {
			return nil, err
		}
		row, err := rowOf(rows, id, "communications")
		if err != nil {
			return nil, err
		}
		label := row.CommunicationLabel
		filter.Topics = exactly(label.Topic)
		if measure == latencyMeasure {
			c := wanting([]analyze.CommunicationLabel{label})
			err := v.plain.take(ctx, filter, func(q *analyze.Query) error { return communicationSeries(ctx, q, c) })
			return c[label], err
		}
		return v.collectPeriodic(ctx, filter, analyze.Communications, measure, periodicOfCommunication(label))
	}
	rows, err := v.periods(ctx, analyze.Topics)
	if err != nil {
		return nil, err
	}
	row, err := rowOf(rows, id, "topics")
	if err != nil {
		return nil, err
	}
	filter.Topics = exactly(row.Topic)
	return v.collectPeriodic(ctx, filter, analyze.Topics, measure, row.PeriodicLabel)
}

func (v *View) collectPeriodic(ctx context.Context, filter analyze.Filter, subject analyze.Subject, measure string, label analyze.PeriodicLabel) (*collected, error) {
	c := wanting([]analyze.PeriodicLabel{label})
	err := v.plain.take(ctx, filter, func(q *analyze.Query) error { return periodicSeries(ctx, q, subject, measure, c) })
	return c[label], err
}

// callbackLabel returns what rows have of a callback.
func (v *View) callbackLabel(ctx context.Context, id int32) (label analyze.CallbackLabel, err error) {
	var found *system.Callback
	err = v.plain.all(ctx, func(*analyze.Query) error {
		for c, number := range v.entities.callbacks {
			if number == id {
				found = c
			}
		}
		return nil
	})
	if err != nil {
		return label, err
	}
	if found != nil && !v.asksFor(found.Node) {
		return label, fmt.Errorf("%w: the callback's node is not among those that are shown", ErrBadKey)
	}
	if found == nil {
		return label, fmt.Errorf("%w: there are %d callbacks", ErrBadKey, len(v.entities.callbacks))
	}
	return analyze.LabelOf(found), nil
}

func periodicOfCallback(l analyze.CallbackLabel) analyze.PeriodicLabel {
	return analyze.PeriodicLabel{Node: l.Node, PID: l.PID, Callback: l.Callback, Kind: l.Kind, Topic: l.Topic, TimerPeriod: l.Period}
}

func periodicOfCommunication(l analyze.CommunicationLabel) analyze.PeriodicLabel {
	return analyze.PeriodicLabel{Node: l.PublisherNode, PID: l.PublisherPID, Topic: l.Topic, SubscriptionNode: l.SubscriptionNode, Transport: l.Transport}
}

// newSeries describes instances of a time. They are put in order, and are not used any more: many are described where
// they are.
func (v *View) newSeries(c *collected, from, to int64) *series {
	c.arrange()
	s := &series{Exact: len(c.times) <= exactInstances, Missing: []int64{}, MissingTotal: len(c.missing)}
	for _, at := range c.missing[:min(len(c.missing), missingInstances)] {
		s.Missing = append(s.Missing, v.since(at))
	}
	if s.Exact {
		s.At, s.Values = make([]int64, len(c.times)), slices.Clone(c.values)
		for i, at := range c.times {
			s.At[i] = v.since(at)
		}
	} else {
		s.At, s.buckets = c.inBuckets(v.since(from), to-from, v.since)
	}
	slices.Sort(c.values)
	s.Histogram, s.Statistics = newHistogram(c.values), newSeriesStatistics(c.values)
	return s
}

// arrange puts instances in the order of time: some queries tell of several publishers, or of messages by their ends.
func (c *collected) arrange() {
	slices.Sort(c.missing)
	if !sort.IsSorted(c) {
		sort.Stable(c)
	}
}

// inBuckets describes the instances of equal parts of a time that begins at from on the page. It returns their begins,
// too. Values of one part are sorted.
func (c *collected) inBuckets(from, length int64, since func(int64) int64) (begins []int64, b *buckets) {
	b = &buckets{Length: length/seriesBuckets + 1}
	i := 0
	for n := range int64(seriesBuckets) {
		begin := from + n*b.Length
		first := i
		for i < len(c.times) && since(c.times[i]) < begin+b.Length {
			i++
		}
		begins, b.Count = append(begins, begin), append(b.Count, i-first)
		slices.Sort(c.values[first:i])
		of := newSeriesStatistics(c.values[first:i])
		b.Min, b.P50, b.Max = append(b.Min, of.Min), append(b.P50, of.P50), append(b.Max, of.Max)
	}
	return begins, b
}

// newSeriesStatistics describes sorted values, which may change behind.
func newSeriesStatistics(sorted []float64) seriesStatistics {
	s := seriesStatistics{Count: len(sorted)}
	if len(sorted) == 0 {
		return s
	}
	sum := 0.0
	for _, value := range sorted {
		sum += value
	}
	mean := sum / float64(len(sorted))
	s.Min, s.Mean, s.Max = copied(sorted[0]), &mean, copied(sorted[len(sorted)-1])
	s.P50, s.P90, s.P99 = percentile(sorted, 0.5), percentile(sorted, 0.9), percentile(sorted, 0.99)
	return s
}

// percentile returns the value of a percentile of sorted values, as those of the commands.
func percentile(sorted []float64, share float64) *float64 {
	return copied(sorted[rank.Nearest(share, uint64(len(sorted)))-1])
}

// copied is a value beside the others: one among them would keep them all in memory.
func copied(value float64) *float64 { return &value }

// newHistogram counts sorted values: in equal bins where 98 of 100 of them are, and in one bin each below and above.
func newHistogram(sorted []float64) histogram {
	h := histogram{Edges: []float64{}, Counts: []int{}}
	if len(sorted) == 0 {
		return h
	}
	least, greatest := sorted[0], sorted[len(sorted)-1]
	outer := len(sorted) / 100
	low, high := sorted[outer], sorted[len(sorted)-1-outer]
	if spread := max(high-low, 1); least >= low-2*spread {
		low = least
	}
	if spread := max(high-low, 1); greatest <= high+2*spread {
		high = greatest
	}
	if high == low {
		high = low + 1
	}
	if least < low {
		h.Edges = append(h.Edges, least)
	}
	for i := range histogramBins + 1 {
		h.Edges = append(h.Edges, low+(high-low)*float64(i)/histogramBins)
	}
	if greatest > high {
		h.Edges = append(h.Edges, greatest)
	}
	h.Counts = make([]int, len(h.Edges)-1)
	bin := 0
	for _, value := range sorted {
		for bin < len(h.Counts)-1 && value >= h.Edges[bin+1] {
			bin++
		}
		h.Counts[bin]++
	}
	return h
}
