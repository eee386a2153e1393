package summary

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Of reads the dataset once. Damaged segments are told in the Summary, they are no errors. progress, which may be nil,
// is told how many of the rows have been read, from several goroutines.
func Of(ctx context.Context, d *trace.Dataset, progress func(read, total int64)) (*Summary, error) {
	return OfPart(ctx, d, nil, progress)
}

// OfPart is Of for what began in a part of the recording's span, both ends included. part, if not nil, gets the span,
// if there is one, and returns the part; an error of it is returned as it is.
func OfPart(ctx context.Context, d *trace.Dataset, part func(trace.Span) (trace.Span, error), progress func(read, total int64)) (*Summary, error) {
	return newSummarizer(d, part, progress).run(ctx)
}

func newSummarizer(d *trace.Dataset, part func(trace.Span) (trace.Span, error), progress func(read, total int64)) *summarizer {
	return &summarizer{
		dataset: d, part: part, progress: progress, groups: make(map[string][]*trace.Group), unknown: system.NewUnknownLimit(),
		result: Summary{Session: d.Session(), Live: d.Live(), Killed: d.Killed()},
	}
}

func (s *summarizer) run(ctx context.Context) (*Summary, error) {
	for _, step := range []func(context.Context) error{s.footers, s.restrict, s.hits, s.entities, s.events, s.losses, s.clocks, s.count} {
		if err := s.damages.Add(step(ctx)); err != nil {
			return nil, err
		}
	}
	s.collect()
	if err := s.nameStrangers(ctx); err != nil {
		return nil, err
	}
	s.finish()
	return &s.result, nil
}

// summarizer gathers a Summary.
type summarizer struct {
	dataset  *trace.Dataset
	part     func(trace.Span) (trace.Span, error)
	progress func(read, total int64)
	result   Summary
	damages  scan.Damages
	groups   map[string][]*trace.Group
	system   *system.Architecture
	standard *system.Standard
	unknown  *system.UnknownLimit
	workers  []*worker

	total    int64
	rowsRead atomic.Int64

	processes map[trace.ProcessKey]*Process
	nodes     map[processNode]*Node
	topics    map[string]*topicTraffic
	callbacks []*countedCallback
}

// processNode is a node by name.
type processNode struct {
	process trace.ProcessKey
	name    string
}

// topicTraffic is a Topic in the making.
type topicTraffic struct {
	publishCount
	received uint64
}

// countedCallback is a callback with its executions; the callback is made of what rows say where no entity is known.
type countedCallback struct {
	callbackCount
	process  trace.ProcessKey
	address  trace.Address
	callback *system.Callback
	// stranger: no entity table knows it.
	stranger bool
}

func (s *summarizer) read(rows int) {
	n := s.rowsRead.Add(int64(rows))
	if s.progress != nil {
		s.progress(n, s.total)
	}
}

func (s *summarizer) entities(ctx context.Context) error {
	loader, err := system.LoadEntities(ctx, s.dataset)
	if err != nil {
		return err
	}
	s.system = loader.Architecture()
	s.standard = s.system.Standard()
	for _, table := range trace.Registry() {
		if begin := table.Column("init_timestamp"); begin != nil && begin.Tracepoint != "" {
			s.addTracepoint(table.Name, begin.Tracepoint, s.inits(loader.Lives(table.Name)))
		}
	}
	return nil
}

// inits counts the lives whose begin was seen in the time that is asked for.
func (s *summarizer) inits(lives []system.Life) (count uint64) {
	for i := range lives {
		if init := lives[i].Init; init.Valid && s.covers(init.Value) {
			count++
		}
	}
	return count
}

// addTracepoint adds the count of a tracepoint, unless it is 0 and the tracepoint was not probed or another table has
// it.
func (s *summarizer) addTracepoint(table, tracepoint string, count uint64) {
	if count > 0 {
		s.result.Tracepoints = slices.DeleteFunc(s.result.Tracepoints, func(t Tracepoint) bool { return t.Tracepoint == tracepoint && t.Count == 0 })
	}
	if count > 0 || s.probed(tracepoint) && !s.counted(tracepoint) {
		s.result.Tracepoints = append(s.result.Tracepoints, Tracepoint{Tracepoint: tracepoint, Table: table, Count: count})
	}
}

// events counts what tables of several kinds of events hold: the steps of service calls and unmerged hits.
func (s *summarizer) events(ctx context.Context) error {
	steps := map[string]uint64{string(trace.RequestSent): 0, string(trace.RequestTaken): 0, string(trace.ResponseSent): 0, string(trace.ResponseTaken): 0}
	err := trace.Scan(ctx, s.dataset, trace.TableService, func(rows []struct {
		Step trace.ServiceStep `column:"step"`
		At   int64             `column:"step_timestamp"`
	}) error {
		for i := range rows {
			if s.covers(rows[i].At) {
				s.countName(steps, string(rows[i].Step))
			}
		}
		return s.unknown.Err()
	})
	s.addTracepoints(trace.TableService, steps)
	if err := s.damages.Add(err); err != nil {
		return err
	}
	var mu sync.Mutex
	events := make(map[string]uint64)
	groups := s.groups[trace.TableEvent]
	err = scan.InParallel(ctx, len(groups), func(ctx context.Context, _, i int) error {
		of := make(map[string]uint64)
		count := func(event string) { s.countName(of, event) }
		read := s.scanEvents
		if s.result.Within.Valid {
			read = s.scanTimedEvents
		}
		err := s.damages.Add(read(ctx, groups[i], count))
		mu.Lock()
		defer mu.Unlock()
		for event, count := range of {
			events[event] += count
		}
		return err
	})
	s.addTracepoints(trace.TableEvent, events)
	return err
}

// countName counts what rows name.
func (s *summarizer) countName(counts map[string]uint64, name string) {
	if counts[name] == 0 {
		s.unknown.Keep(len(name))
	}
	counts[name]++
}

// scanEvents names the event of each unmerged hit of a group.
func (s *summarizer) scanEvents(ctx context.Context, g *trace.Group, count func(event string)) error {
	return trace.ScanGroup(ctx, trace.TableEvent, g, nil, func(rows []struct {
		Event string `column:"event"`
	}) error {
		for i := range rows {
			count(rows[i].Event)
		}
		return s.unknown.Err()
	})
}

// scanTimedEvents does so for those in the time that is asked for.
func (s *summarizer) scanTimedEvents(ctx context.Context, g *trace.Group, count func(event string)) error {
	return trace.ScanGroup(ctx, trace.TableEvent, g, nil, func(rows []struct {
		Event string `column:"event"`
		At    int64  `column:"event_timestamp"`
	}) error {
		for i := range rows {
			if s.covers(rows[i].At) {
				count(rows[i].Event)
			}
		}
		return s.unknown.Err()
	})
}

func (s *summarizer) addTracepoints(table string, counts map[string]uint64) {
	for _, name := range sortedKeys(counts) {
		s.addTracepoint(table, name, counts[name])
	}
}

// count reads the large tables.
func (s *summarizer) count(ctx context.Context) error {
	for range scan.MaxWorkers() {
		s.workers = append(s.workers, newWorker(s.system.Index(), s.result.Within, s.unknown))
	}
	for _, table := range []string{trace.TableCallback, trace.TablePublish, trace.TableTake, trace.TableEnqueue} {
		s.groups[table] = slices.DeleteFunc(s.groups[table], func(g *trace.Group) bool { return s.outside(table, g) })
		for _, g := range s.groups[table] {
			s.total += g.Rows()
		}
	}
	for _, read := range []func() error{
		func() error { return scanTable(ctx, s, trace.TableCallback, (*worker).addCallbacks) },
		func() error { return scanTable(ctx, s, trace.TablePublish, (*worker).addPublishes) },
		func() error { return scanTable(ctx, s, trace.TableTake, (*worker).addTakes) },
		func() error {
			if s.result.Within.Valid {
				return scanTable(ctx, s, trace.TableEnqueue, (*worker).addTimedEnqueues)
			}
			return scanTable(ctx, s, trace.TableEnqueue, (*worker).addEnqueues)
		},
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// collect merges what the goroutines counted.
func (s *summarizer) collect() {
	s.processes = make(map[trace.ProcessKey]*Process)
	s.nodes = make(map[processNode]*Node)
	s.topics = make(map[string]*topicTraffic)
	for i := range s.system.Processes {
		p := &s.system.Processes[i]
		s.process(p.ProcessKey).describe(p)
	}
	callbacks := make(map[*system.Callback]*countedCallback)
	strangers := make(map[system.Place]*countedCallback)
	status := make(map[Status]uint64)
	for _, w := range s.workers {
		for _, p := range w.processes {
			of := s.process(p.key)
			of.Callbacks += p.executions
			of.Publishes += p.publishes
			of.Takes += p.takes
			of.Enqueues += p.enqueue
			for address, lives := range p.callbacks {
				at := system.Place{Process: p.key, Address: address}
				for i := range lives.counts {
					mergeCallback(callbacks, lives.lives.Entity(i), at, lives.lives.Entity(i), &lives.counts[i])
				}
				mergeCallback(strangers, at, at, nil, &lives.unknown)
			}
			for _, lives := range p.publishers {
				for i := range lives.counts {
					publisher := lives.lives.Entity(i)
					s.addPublisher(p.key, publisher.TopicName, publisher.Node.Name, &lives.counts[i])
				}
			}
		}
		for of, count := range w.unnamed {
			s.addPublisher(w.processes[of.process].key, of.topic, of.nodeName, count)
		}
		for of, count := range w.takes {
			n := s.node(w.processes[of.process].key, of.nodeName)
			n.Takes += count.polled
			n.IgnoredTakes += count.ignored
			n.UnattributedTakes += count.unattributed
			if of.topic != "" {
				s.topic(of.topic).received += count.polled
			}
		}
		for of, count := range w.status {
			status[of] += count
		}
	}
	for of, count := range status {
		of.Count = count
		s.result.Incomplete = append(s.result.Incomplete, of)
	}
	for _, c := range callbacks {
		s.callbacks = append(s.callbacks, c)
	}
	for _, c := range strangers {
		s.callbacks = append(s.callbacks, c)
	}
}

func mergeCallback[K comparable](into map[K]*countedCallback, key K, at system.Place, callback *system.Callback, count *callbackCount) {
	if count.count == 0 {
		return
	}
	c := into[key]
	if c == nil {
		c = &countedCallback{process: at.Process, address: at.Address, callback: callback, stranger: callback == nil}
		into[key] = c
	}
	widenBy(&c.span, &c.started, count.span, count.started)
	c.count += count.count
	c.timed += count.timed
	c.total += count.total
	c.max = max(c.max, count.max)
}

func (s *summarizer) addPublisher(process trace.ProcessKey, topic, node string, count *publishCount) {
	if count.count == 0 {
		return
	}
	s.node(process, node).Publishes += count.count
	t := s.topic(topic)
	widenBy(&t.span, &t.timed, count.span, count.timed)
	t.count += count.count
}

func (s *summarizer) process(key trace.ProcessKey) *Process {
	p := s.processes[key]
	if p == nil {
		p = &Process{ProcessKey: key, Number: key.PID}
		s.processes[key] = p
	}
	return p
}

func (p *Process) describe(row *trace.Process) {
	p.Command, p.Distro, p.RMWImplementation = row.Command, row.Distro, row.RMWImplementation
}

func (s *summarizer) node(process trace.ProcessKey, name string) *Node {
	key := processNode{process, name}
	n := s.nodes[key]
	if n == nil {
		n = &Node{PID: process.PID, NodeName: name}
		s.nodes[key] = n
	}
	return n
}

func (s *summarizer) topic(name string) *topicTraffic {
	t := s.topics[name]
	if t == nil {
		t = new(topicTraffic)
		s.topics[name] = t
	}
	return t
}

// finish sorts what was gathered.
func (s *summarizer) finish() {
	r := &s.result
	for _, c := range s.callbacks {
		s.finishCallback(c)
	}
	for _, p := range s.processes {
		r.Processes = append(r.Processes, *p)
	}
	slices.SortFunc(r.Processes, func(a, b Process) int { return system.CompareProcesses(a.ProcessKey, b.ProcessKey) })
	for _, n := range s.nodes {
		n.CallbackRate, n.PublishRate = s.perSecond(n.Callbacks), s.perSecond(n.Publishes)
		r.Nodes = append(r.Nodes, *n)
	}
	slices.SortFunc(r.Nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.NodeName, b.NodeName), cmp.Compare(a.PID, b.PID))
	})
	slices.SortFunc(r.Callbacks, func(a, b Callback) int {
		return cmp.Or(cmp.Compare(b.TotalTime, a.TotalTime), cmp.Compare(b.Count, a.Count), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Callback, b.Callback), cmp.Compare(a.Symbol, b.Symbol))
	})
	for name, t := range s.topics {
		r.Topics = append(r.Topics, Topic{
			TopicName: name, Publishes: t.count, Rate: rate(t.timed, t.span), Received: t.received, Standard: s.standard.Topic(name),
		})
	}
	slices.SortFunc(r.Topics, func(a, b Topic) int {
		return cmp.Or(cmp.Compare(b.Publishes, a.Publishes), cmp.Compare(a.TopicName, b.TopicName))
	})
	slices.SortFunc(r.Incomplete, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Status, b.Status))
	})
	for _, segment := range s.damages.Segments {
		r.Damaged = append(r.Damaged, segment.Error())
	}
	r.Damaged = append(r.Damaged, s.system.Warnings...)
	slices.Sort(r.Damaged)
	r.Damaged = append([]string{}, slices.Compact(r.Damaged)...) // never null in JSON
	type process struct{ pid, start int64 }
	commands := make(map[process]string, len(r.Processes))
	for _, p := range r.Processes {
		commands[process{int64(p.PID), p.ProcessStart}] = p.Command
	}
	for i := range r.Unarmed {
		if command, ok := commands[process{int64(r.Unarmed[i].PID), r.Unarmed[i].ProcessStart}]; ok {
			r.Unarmed[i].Command = command
		}
	}
	r.Warnings = append([]string{}, s.warnings()...)
}

func (s *summarizer) finishCallback(c *countedCallback) {
	row := Callback{
		PID: c.process.PID, Callback: c.address, Count: c.count, Timed: c.timed, TotalTime: c.total, MaxTime: c.max,
		Rate: rate(c.started, c.span),
	}
	if c.timed > 0 {
		row.MeanTime = trace.Some(c.total / int64(c.timed))
	}
	if of := c.callback; of != nil {
		row.Standard = s.standard.Callback(of)
		row.NodeName, row.Kind, row.Topic, row.Period, row.Symbol = of.Node.Name, of.Kind, cmp.Or(of.TopicName, of.ServiceName), of.Period, of.Symbol
		if of.TopicName != "" {
			s.topic(of.TopicName).received += c.started
		}
	}
	n := s.node(c.process, row.NodeName)
	n.Callbacks += c.count
	n.TotalTime += c.total
	s.result.Callbacks = append(s.result.Callbacks, row)
}

// perSecond returns a rate over the recording's span, or the part of it that is asked for.
func (s *summarizer) perSecond(count uint64) trace.Optional[float64] {
	span := s.result.Span.Value
	if within := s.result.Within; within.Valid {
		span = trace.Span{First: max(span.First, within.Value.First), Last: min(span.Last, within.Value.Last)}
	}
	if !s.result.Span.Valid || span.Nanoseconds() <= 0 {
		return trace.Optional[float64]{}
	}
	return trace.Some(float64(count) * 1e9 / float64(span.Nanoseconds()))
}

// rate returns the rate of events in the span that the first and the last of them bound.
func rate(events uint64, span trace.Span) trace.Optional[float64] {
	if events < 2 || span.Nanoseconds() == 0 {
		return trace.Optional[float64]{}
	}
	return trace.Some(float64(events-1) * 1e9 / float64(span.Nanoseconds()))
}
