package live

import (
	"cmp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/grid"
	"github.com/caret-bpf/caret-bpf/analyze/rank"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Snapshot tells what there was until a moment ago. now is the present, on the dataset's clock. The slices are not to
// be changed.
func (w *Window) Snapshot(now int64) Snapshot {
	w.telling.Lock()
	defer w.telling.Unlock()
	if w.lastAt == 0 || now-w.lastAt >= freshness.Nanoseconds() {
		w.last, w.lastAt = w.snapshot(now), now
	}
	return w.last
}

func (w *Window) snapshot(now int64) Snapshot {
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
		if w.arrive(p) {
			return false
		}
		waits := now-p.start <= pendingPatience.Nanoseconds()
		if !waits && w.messages.HasForgotten(p.start-pendingPatience.Nanoseconds()) {
			w.beyond++ // else nobody has recorded its publish
		}
		return waits
	})
	for _, p := range w.paths {
		before := len(p.arrivals)
		p.way.Tick(now, p.arrived)
		w.values += len(p.arrivals) - before
	}
	begin := s.EndNs - w.span.Nanoseconds()
	if begin-w.since > w.span.Nanoseconds()/oldShare {
		w.forget(begin)
	}
	s.BeginNs, s.Beyond = min(max(w.since, begin), s.EndNs), w.beyond
	for _, row := range w.losses {
		switch {
		case row.FromTimestamp > s.EndNs, row.ToTimestamp < s.BeginNs:
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
	if of.origin.Valid { // before, another timer was there
		first, _ := slices.BinarySearch(starts, of.origin.Value)
		starts = starts[first:]
	}
	points := grid.Grid{Period: of.period.Value, Origin: of.origin}
	late := make([]int64, len(starts))
	for i, at := range starts {
		points.Start(at)
		late[i] = points.Lateness(at)
	}
	if !of.origin.Valid {
		punctual := slices.Min(late)
		if points.IsUncertain(punctual, slices.Max(late)) {
			return trace.Optional[int64]{}
		}
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
	count      int
	publishers int
	// bySource are the messages of the middleware, and sent when those of each publisher were published in the span.
	bySource map[int64]message
	sent     map[*publisher][]int64
	received bool
}

// published is how many messages were published, a second; null if nobody is known to publish.
func (m *summing) published(t *topicSum) trace.Optional[float64] {
	return trace.Optional[float64]{Value: float64(t.count) / m.seconds, Valid: t.publishers > 0}
}

func (m *summing) topics(publishers []publisher, callbacks []callback) {
	topics := map[string]*topicSum{}
	at := func(name string) *topicSum {
		t := topics[name]
		if t == nil {
			t = &topicSum{bySource: map[int64]message{}, sent: map[*publisher][]int64{}}
			topics[name] = t
		}
		return t
	}
	for i := range publishers {
		of := &publishers[i]
		t := at(of.topic)
		t.publishers++
		count := 0
		for _, s := range of.sent {
			if s.source.Valid {
				t.bySource[s.source.Value] = message{s.at, of}
			}
			if !m.covers(s.at) {
				continue
			}
			count++
			if s.source.Valid {
				t.sent[of] = append(t.sent[of], s.at)
			}
		}
		slices.Sort(t.sent[of])
		t.count += count
		m.node(of.node, of.pid).Published += float64(count) / m.seconds
	}
	for i := range callbacks {
		of := &callbacks[i]
		if of.topic == "" || of.kind == trace.KindService {
			continue
		}
		t := at(of.topic)
		t.received = true
		m.subscription(of, t)
	}
	for name, t := range topics {
		if !t.received && name != "" {
			m.Topics = append(m.Topics, Topic{Topic: name, Published: m.published(t)})
		}
	}
}

// subscription adds the row of a topic and a callback.
func (m *summing) subscription(of *callback, t *topicSum) {
	row := Topic{Topic: of.topic, Node: of.node, PID: of.pid, Published: m.published(t)}
	received := 0
	got := map[*publisher][]int64{} // when the messages that it got were published
	for _, e := range of.executions {
		if m.covers(e.start) {
			received++
		}
		if sent, known := t.bySource[e.source.Value]; known && e.source.Valid {
			got[sent.by] = append(got[sent.by], sent.at)
		}
	}
	row.Received = trace.Some(float64(received) / m.seconds)
	var latencies []int64
	inBuffer := false
	for _, a := range of.arrivals {
		inBuffer = inBuffer || a.inBuffer
		if m.covers(a.published) {
			latencies = append(latencies, a.start-a.published)
		}
	}
	row.Durations = describe(latencies)
	if len(got) > 0 && !inBuffer && m.Lost == 0 && m.Unarmed == 0 {
		row.Lost = trace.Some(uint64(m.lost(of.first, t.sent, got)))
	}
	m.Topics = append(m.Topics, row)
}

// lost counts the messages that were sent in the span, between the first one that was got and the last one of the same
// publisher, and were not got. Times of what was sent are in order.
func (m *summing) lost(first int64, sent, got map[*publisher][]int64) (count int) {
	for by, received := range got {
		slices.Sort(received)
		last := received[len(received)-1]
		from, _ := slices.BinarySearch(sent[by], first+1)
		to, _ := slices.BinarySearch(sent[by], last)
		count += max(0, to-from)
		for _, at := range slices.Compact(received) {
			if first < at && at < last && m.covers(at) {
				count--
			}
		}
	}
	return max(0, count)
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
