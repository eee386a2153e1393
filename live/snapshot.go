package live

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/grid"
	"github.com/caret-bpf/caret-bpf/analyze/rank"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Snapshot tells what there was until a moment ago. now is the present, on the dataset's clock.
func (w *Window) Snapshot(now int64) Snapshot {
	s := Snapshot{EndNs: now - settling.Nanoseconds(), Callbacks: []Callback{}, Topics: []Topic{}, Nodes: []Node{}, Paths: []Path{}}
	callbacks, publishers, paths := w.take(now, &s)
	m := &summing{Snapshot: &s, seconds: float64(s.EndNs-s.BeginNs) / 1e9, nodes: map[nodeKey]*Node{}}
	if m.seconds <= 0 {
		return s
	}
	for i := range callbacks {
		m.callback(&callbacks[i])
	}
	m.topics(publishers, callbacks)
	for i := range paths {
		m.path(&paths[i])
	}
	m.order()
	return s
}

// take gives up what is too old, and returns the rest as it is now. Rows that come wait for no more than that: nothing
// that was kept is changed later (keepIf).
func (w *Window) take(now int64, s *Snapshot) (callbacks []callback, publishers []publisher, paths []path) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = keepIf(w.pending, func(p pendingArrival) bool {
		return !w.arrive(p) && now-p.start <= pendingPatience.Nanoseconds()
	})
	for _, p := range w.paths {
		before := len(p.arrivals)
		p.way.Tick(now, p.arrived)
		w.values += len(p.arrivals) - before
	}
	w.forget(s.EndNs - w.span.Nanoseconds())
	s.BeginNs, s.Beyond = min(w.since, s.EndNs), w.beyond
	for _, row := range w.losses {
		switch {
		case row.FromTimestamp > s.EndNs:
		case row.Reason == trace.LossUnarmed:
			s.Unarmed++
		default:
			s.Lost += row.Count
		}
	}
	for _, of := range w.callbacks {
		callbacks = append(callbacks, *of)
	}
	for _, of := range w.publishers {
		publishers = append(publishers, *of)
	}
	for _, p := range w.paths {
		s.Beyond += p.way.Beyond()
		paths = append(paths, path{PathDefinition: p.PathDefinition, arrivals: p.arrivals})
	}
	return callbacks, publishers, paths
}

// summing makes the rows of a snapshot.
type summing struct {
	*Snapshot
	seconds float64
	nodes   map[nodeKey]*Node
}

type nodeKey struct {
	name string
	pid  int32
}

func (m *summing) covers(at int64) bool { return m.BeginNs <= at && at < m.EndNs }

// percent is a share of the span.
func (m *summing) percent(ns int64) float64 { return float64(ns) / 1e7 / m.seconds }

func (m *summing) node(name string, pid int32) *Node {
	key := nodeKey{name, pid}
	n := m.nodes[key]
	if n == nil {
		n = &Node{Node: name, PID: pid}
		m.nodes[key] = n
	}
	return n
}

func (m *summing) callback(of *callback) {
	var durations, starts []int64
	var busy, outermost, overhead int64
	for _, e := range of.executions {
		within := max(0, min(e.start+e.duration.Value, m.EndNs)-max(e.start, m.BeginNs))
		busy += within
		if e.outermost {
			outermost += within
		}
		if !m.covers(e.start) {
			continue
		}
		starts = append(starts, e.start)
		overhead += e.overhead.Value
		if e.duration.Valid {
			durations = append(durations, e.duration.Value)
		}
	}
	row := Callback{
		Node: of.node, Callback: of.name, Kind: of.kind, PID: of.pid,
		Rate: float64(len(starts)) / m.seconds, Durations: describe(durations), Load: m.percent(busy), Overhead: m.percent(overhead),
		LateP99: lateness(of, starts),
	}
	m.Callbacks = append(m.Callbacks, row)
	n := m.node(of.node, of.pid)
	n.Callbacks += row.Rate
	n.Load += m.percent(outermost)
	n.Overhead += row.Overhead
	if row.Max.Valid && row.Max.Value >= n.Longest.Value {
		n.Longest = row.Max
	}
}

// lateness is the 99th percentile of how late a timer began.
func lateness(of *callback, starts []int64) trace.Optional[int64] {
	if of.kind != trace.KindTimer || of.period.Value <= 0 || len(starts) == 0 {
		return trace.Optional[int64]{}
	}
	slices.Sort(starts)
	points := grid.Grid{Period: of.period.Value, Origin: of.origin}
	late := make([]int64, len(starts))
	for i, at := range starts {
		points.Start(at)
		late[i] = points.Lateness(at)
	}
	if !of.origin.Valid {
		punctual := slices.Min(late)
		for i := range late {
			late[i] -= punctual
		}
	}
	return describe(late).P99
}

// describe sorts values.
func describe(values []int64) (d Durations) {
	if len(values) == 0 {
		return d
	}
	slices.Sort(values)
	at := func(share float64) trace.Optional[int64] {
		return trace.Some(values[rank.Nearest(share, uint64(len(values)))-1])
	}
	return Durations{P50: at(0.5), P99: at(0.99), Max: at(1)}
}

// message is one that was published on a topic.
type message struct {
	at int64
	by *publisher
}

// topicSum is what was published on a topic.
type topicSum struct {
	count    int
	bySource map[int64]message
	received bool
}

func (m *summing) topics(publishers []publisher, callbacks []callback) {
	topics := map[string]*topicSum{}
	for i := range publishers {
		of := &publishers[i]
		t := topics[of.topic]
		if t == nil {
			t = &topicSum{bySource: map[int64]message{}}
			topics[of.topic] = t
		}
		count := 0
		for _, s := range of.sent {
			if !m.covers(s.at) {
				continue
			}
			count++
			if s.source.Valid {
				t.bySource[s.source.Value] = message{s.at, of}
			}
		}
		t.count += count
		m.node(of.node, of.pid).Published += float64(count) / m.seconds
	}
	for i := range callbacks {
		of := &callbacks[i]
		if of.topic == "" || of.kind == trace.KindService {
			continue
		}
		t := topics[of.topic]
		if t == nil {
			t = new(topicSum)
			topics[of.topic] = t
		}
		t.received = true
		m.subscription(of, t)
	}
	for name, t := range topics {
		if !t.received && name != "" {
			m.Topics = append(m.Topics, Topic{Topic: name, Published: float64(t.count) / m.seconds})
		}
	}
}

// subscription adds the row of a topic and a callback.
func (m *summing) subscription(of *callback, t *topicSum) {
	row := Topic{Topic: of.topic, Node: of.node, PID: of.pid, Published: float64(t.count) / m.seconds}
	received := 0
	for _, e := range of.executions {
		if m.covers(e.start) {
			received++
		}
	}
	row.Received = trace.Some(float64(received) / m.seconds)
	var latencies []int64
	inBuffer := false
	got := map[int64]bool{}
	latest := map[*publisher]int64{}
	for _, a := range of.arrivals {
		if m.covers(a.published) {
			latencies = append(latencies, a.start-a.published)
		}
		if !a.source.Valid {
			inBuffer = true
			continue
		}
		got[a.source.Value] = true
		if sent, known := t.bySource[a.source.Value]; known {
			latest[sent.by] = max(latest[sent.by], sent.at)
		}
	}
	row.Durations = describe(latencies)
	if !inBuffer && m.Lost == 0 && m.Unarmed == 0 {
		lost := uint64(0)
		for source, sent := range t.bySource {
			if of.first < sent.at && sent.at < latest[sent.by] && !got[source] {
				lost++
			}
		}
		row.Lost = trace.Some(lost)
	}
	m.Topics = append(m.Topics, row)
}

func (m *summing) path(p *path) {
	row := Path{From: p.From.String(), To: p.To.String()}
	var latencies []int64
	for _, a := range p.arrivals {
		if m.covers(a.start) {
			latencies = append(latencies, a.start-a.published)
		}
	}
	row.Rate, row.Durations = float64(len(latencies))/m.seconds, describe(latencies)
	m.Paths = append(m.Paths, row)
}

// order gives the rows the order of their names, which maps do not have.
func (m *summing) order() {
	for _, n := range m.nodes {
		m.Nodes = append(m.Nodes, *n)
	}
	slices.SortFunc(m.Nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID)) })
	slices.SortFunc(m.Callbacks, func(a, b Callback) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Callback, b.Callback), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Rate, b.Rate))
	})
	slices.SortFunc(m.Topics, func(a, b Topic) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Received.Value, b.Received.Value))
	})
}
