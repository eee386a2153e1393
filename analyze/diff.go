package analyze

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// DiffOptions say what counts as a difference. The zero value of a field stands for its default.
type DiffOptions struct {
	// Alpha is the probability, at most, with which any latency of two recordings of the same system is called changed.
	// Default 0.01.
	Alpha float64
	// MinChange is the least change of the median, as a share of the former one, that is called a change. Default 0.05.
	MinChange float64
	// Progress, if not nil, is called with the rows that were read of those that one of several passes has to read. It may
	// be called by several goroutines.
	Progress func(read, total int64)
}

// Difference is what differs between two recordings.
type Difference struct {
	Entities []EntityChange `json:"entities"`
	// Latencies has a row for every callback and communication that both recordings have, those that changed first.
	Latencies []LatencyChange `json:"latencies"`
	// Warnings say what the comparison lacks: damaged segments, records that were lost.
	Warnings []string `json:"warnings"`
}

// EntityChange is an entity that only one of the recordings has.
type EntityChange struct {
	// Change is came (only the second recording has it) or went.
	Change string `json:"change" report:"change"`
	Kind   string `json:"kind" report:"kind"`
	Name   string `json:"name" report:"name"`
}

// LatencyChange compares a latency of both recordings, in nanoseconds.
type LatencyChange struct {
	Kind    string `json:"kind" report:"kind"`
	Name    string `json:"name" report:"name"`
	CountA  uint64 `json:"count_a" report:"count_a"`
	CountB  uint64 `json:"count_b" report:"count_b"`
	MedianA int64  `json:"median_a" report:"median_a,duration"`
	MedianB int64  `json:"median_b" report:"median_b,duration"`
	Change  int64  `json:"change" report:"change,duration"`
	// Percent is Change as a share of MedianA; null where that is 0.
	Percent trace.Optional[float64] `json:"percent" report:"change_percent,percent"`
	// P is the probability of such a difference between two recordings of the same system, corrected for the number of
	// comparisons; null for recordings too short to tell.
	P trace.Optional[float64] `json:"p" report:"p,percent"`
	// Exceeds says that the change exceeds the noise of the recordings and DiffOptions.MinChange.
	Exceeds bool `json:"exceeds" report:"exceeds_noise"`
}

// Differs tells whether entities came or went, or a latency changed by more than noise.
func (d *Difference) Differs() bool {
	return len(d.Entities) > 0 || slices.ContainsFunc(d.Latencies, func(l LatencyChange) bool { return l.Exceeds })
}

const (
	// diffWindows is the number of windows that a recording is cut into. Executions right after one another are alike for
	// reasons that have nothing to do with what changed between recordings; medians of windows are less so.
	diffWindows = 30
	// leastWindows is the number of windows with a value below which nothing is concluded.
	leastWindows = 8
)

// Diff compares two recordings of one system, a the former. Callbacks are the same when node, kind, topic or period,
// and symbol are.
func Diff(ctx context.Context, a, b *trace.Dataset, options DiffOptions) (*Difference, error) {
	options.Alpha = cmp.Or(options.Alpha, 0.01)
	options.MinChange = cmp.Or(options.MinChange, 0.05)
	former, err := measure(ctx, a, options.Progress)
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", a.Dir(), err)
	}
	latter, err := measure(ctx, b, options.Progress)
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", b.Dir(), err)
	}
	d := &Difference{Entities: []EntityChange{}, Latencies: []LatencyChange{}, Warnings: append(append([]string{}, former.warnings...), latter.warnings...)}
	for of := range latter.entities {
		if !former.entities[of] {
			d.Entities = append(d.Entities, EntityChange{Change: "came", Kind: of.kind, Name: of.name})
		}
	}
	for of := range former.entities {
		if !latter.entities[of] {
			d.Entities = append(d.Entities, EntityChange{Change: "went", Kind: of.kind, Name: of.name})
		}
	}
	slices.SortFunc(d.Entities, func(x, y EntityChange) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
	for of, x := range former.latencies {
		if y := latter.latencies[of]; y != nil {
			d.Latencies = append(d.Latencies, compareLatencies(of, x, y))
		}
	}
	d.judge(options)
	return d, nil
}

// measured names an entity or a latency in a way that is the same from run to run.
type measured struct {
	kind, name string
}

// measurements are what Diff compares.
type measurements struct {
	entities  map[measured]bool
	latencies map[measured]*windowed
	span      trace.Span
	warnings  []string
}

// windowed are durations by the window in which they began.
type windowed struct {
	windows [diffWindows]distribution
}

func measure(ctx context.Context, d *trace.Dataset, progress func(read, total int64)) (*measurements, error) {
	query, err := NewQuery(ctx, Filter{}, d)
	if err != nil {
		return nil, err
	}
	query.Progress = progress
	m := &measurements{entities: make(map[measured]bool), latencies: make(map[measured]*windowed)}
	defer func() { m.warnings = query.Warnings }()
	var ok bool
	if m.span, ok, err = query.TimeSpan(ctx); err != nil || !ok {
		return m, err
	}
	l, err := system.LoadEntities(ctx, d)
	if err != nil {
		return nil, err
	}
	m.addEntities(l.Architecture())
	_, err = query.CallbackLatency(ctx, func(rows []CallbackExecution) error {
		for i := range rows {
			row := &rows[i]
			name := fmt.Sprintf("%s %s %s", row.Node, describeTrigger(row.Kind, row.Topic, row.Period), row.Symbol)
			m.add(measured{"callback", name}, row.Begin, row.Latency)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = query.CommunicationLatency(ctx, func(rows []CommunicationInstance) error {
		for i := range rows {
			row := &rows[i]
			name := fmt.Sprintf("%s %s → %s (%s)", row.Topic, row.PublisherNode, row.SubscriptionNode, row.Transport)
			m.add(measured{"communication", name}, scan.FirstTime(row.RclcppIntraPublish, row.RclcppPublish, row.RclPublish, row.RMWPublish), row.Latency)
		}
		return nil
	})
	return m, err
}

func describeTrigger(kind trace.CallbackKind, topic string, period trace.Optional[int64]) string {
	if period.Valid {
		return fmt.Sprintf("%s %d ns", kind, period.Value)
	}
	return fmt.Sprintf("%s %s", kind, topic)
}

func (m *measurements) addEntities(a *system.Architecture) {
	for _, n := range a.Nodes {
		if n.Name == "" {
			continue
		}
		m.entities[measured{"node", n.Name}] = true
		for _, p := range n.Publishers {
			m.entities[measured{"publisher", n.Name + " " + p.TopicName}] = true
		}
		for _, s := range n.Subscriptions {
			m.entities[measured{"subscription", n.Name + " " + s.TopicName}] = true
		}
		for _, s := range n.Services {
			m.entities[measured{"service", n.Name + " " + s.ServiceName}] = true
		}
		for _, c := range n.Clients {
			m.entities[measured{"client", n.Name + " " + c.ServiceName}] = true
		}
		for _, t := range n.Timers {
			m.entities[measured{"timer", n.Name + " " + describeTrigger(trace.KindTimer, "", t.Period)}] = true
		}
	}
}

func (m *measurements) add(of measured, at int64, duration trace.Optional[int64]) {
	if !duration.Valid {
		return
	}
	w := m.latencies[of]
	if w == nil {
		w = new(windowed)
		m.latencies[of] = w
	}
	length := max(m.span.Nanoseconds(), 1)
	i := min(max(int(float64(at-m.span.First)/float64(length)*diffWindows), 0), diffWindows-1)
	w.add(i, duration.Value)
}

// add adds a duration. A window that has its share of the samples that a distribution keeps goes on with coarse values,
// so that what a latency takes in memory is bounded.
func (w *windowed) add(window int, ns int64) {
	d := &w.windows[window]
	d.addDuration(ns)
	if d.samples.count > exactSamples/diffWindows {
		d.coarsen()
	}
}

// summarize returns the number of durations, their median and the medians of the windows.
func (w *windowed) summarize() (count uint64, middle int64, medians []float64) {
	var all distribution
	for i := range w.windows {
		if d := &w.windows[i]; d.count > 0 {
			medians = append(medians, float64(d.ranked()(0.5)))
			all.merge(d)
		}
	}
	if all.count > 0 {
		middle = all.ranked()(0.5)
	}
	return all.count, middle, medians
}

func compareLatencies(of measured, a, b *windowed) LatencyChange {
	l := LatencyChange{Kind: of.kind, Name: of.name}
	var before, after []float64
	l.CountA, l.MedianA, before = a.summarize()
	l.CountB, l.MedianB, after = b.summarize()
	l.Change = l.MedianB - l.MedianA
	if l.MedianA != 0 {
		l.Percent = trace.Some(100 * float64(l.Change) / float64(l.MedianA))
	}
	if len(before) >= leastWindows && len(after) >= leastWindows {
		l.P = trace.Some(mannWhitney(before, after))
	}
	return l
}

// judge corrects the probabilities for the number of comparisons, by Holm's method, and says which changes exceed
// noise.
func (d *Difference) judge(options DiffOptions) {
	var tested []*LatencyChange
	for i := range d.Latencies {
		if d.Latencies[i].P.Valid {
			tested = append(tested, &d.Latencies[i])
		}
	}
	slices.SortFunc(tested, func(a, b *LatencyChange) int { return cmp.Compare(a.P.Value, b.P.Value) })
	corrected := 0.0
	for i, l := range tested {
		corrected = max(corrected, min(l.P.Value*float64(len(tested)-i), 1))
		l.P.Value = corrected
		changed := l.Percent.Valid && math.Abs(l.Percent.Value) >= 100*options.MinChange || !l.Percent.Valid && l.Change != 0
		l.Exceeds = corrected < options.Alpha && changed
	}
	for _, l := range tested {
		l.P.Value *= 100
	}
	slices.SortFunc(d.Latencies, func(a, b LatencyChange) int {
		if a.Exceeds != b.Exceeds {
			if a.Exceeds {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// mannWhitney returns the two-sided probability, by the normal approximation with a correction for ties, that two
// samples of one distribution differ in rank as much as these.
func mannWhitney(a, b []float64) float64 {
	type value struct {
		value float64
		first bool
	}
	var all []value
	for _, v := range a {
		all = append(all, value{v, true})
	}
	for _, v := range b {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(x, y value) int { return cmp.Compare(x.value, y.value) })
	ranks, ties := 0.0, 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].value == all[i].value {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		for _, v := range all[i:j] {
			if v.first {
				ranks += float64(i+j+1) / 2
			}
		}
		i = j
	}
	n, m := float64(len(a)), float64(len(b))
	u := ranks - n*(n+1)/2
	variance := n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1)))
	if variance <= 0 {
		return 1 // all are equal
	}
	z := max(math.Abs(u-n*m/2)-0.5, 0) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
