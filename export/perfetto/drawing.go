package perfetto

import (
	"cmp"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The categories of events, by which SQL tells them apart.
const (
	categoryCallback  = "callback"
	categoryNode      = "node" // the same executions again, on the track of their node
	categoryPublish   = "publish"
	categoryPoll      = "poll"
	categoryPath      = "path"
	categoryLoss      = "loss"
	categoryService   = "service"
	categoryLifecycle = "lifecycle"
	categoryWait      = "wait"
	categoryOffCPU    = "off_cpu"
)

// What arguments say of times that were not seen.
const (
	endAtLastEvent    = "not seen: drawn to the last event that was seen in it"
	endAtRecordingEnd = "not seen: drawn to the end of the recording"
	startNotSeen      = "not seen: drawn as an instant, where it ended"
)

// drawing writes what happened as events.
type drawing struct {
	*packetWriter
	*dictionary
	tracks
	known     map[trace.ProcessKey]*trace.Process
	last      int64 // when the recording ended
	processes map[trace.ProcessKey]*process
	callbacks map[*system.Callback]*drawnCallback
	places    map[*system.Publisher]*drawnPlace
	polled    map[*system.Subscription]*drawnPlace
	nodes     map[nodeKey]*drawnNode
	topics    map[string]*rate
	threads   []*thread // and rates, in the order in which they were made
	rates     []*rate
	topicsTop uint64 // the track above those of topics
	summary   *Summary
	delays    *delays // nil if it is not known what went before callbacks

	cpu, endCPU, overhead uint64    // numbers of arguments' names
	parts                 [4]uint64 // the same, of analyze.Parts
	scratch               []byte
}

type process struct {
	*trace.Process
	track   uint64
	threads map[int32]*thread
}

// drawnCallback is what the events of a callback have in common.
type drawnCallback struct {
	begin, instant, onNode []byte
	place                  threadMemory
	node                   *drawnNode
}

type drawnNode struct {
	lanes *lanes
	rate  *rate
}

// nodeKey is a node as a process has it: it may end and come again.
type nodeKey struct {
	process trace.ProcessKey
	name    string
}

// drawnPlace is what the events of a publisher, or the polls of a subscription, have in common.
type drawnPlace struct {
	event []byte
	place threadMemory
	rate  *rate
}

// threadMemory remembers the last thread: rows repeat the same few.
type threadMemory struct {
	process trace.ProcessKey
	thread  *thread
}

func newDrawing(out *packetWriter, summary *Summary) *drawing {
	d := &drawing{
		packetWriter: out, dictionary: newDictionary(out), tracks: tracks{out: out}, summary: summary,
		known: make(map[trace.ProcessKey]*trace.Process), processes: make(map[trace.ProcessKey]*process),
		callbacks: make(map[*system.Callback]*drawnCallback), places: make(map[*system.Publisher]*drawnPlace),
		polled: make(map[*system.Subscription]*drawnPlace), nodes: make(map[nodeKey]*drawnNode), topics: make(map[string]*rate),
	}
	out.first()
	d.cpu, d.endCPU, d.overhead = d.annotations.id("cpu"), d.annotations.id("end_cpu"), d.annotations.id("overhead_ns")
	for i, name := range []string{"cpu_time_ns", "preempted_time_ns", "blocked_time_ns", "wakeup_latency_ns"} {
		d.parts[i] = d.annotations.id(name)
	}
	return d
}

func (d *drawing) process(key trace.ProcessKey) *process {
	p := d.processes[key]
	if p == nil {
		of := d.known[key]
		if of == nil {
			of = &trace.Process{ProcessKey: key}
		}
		p = &process{Process: of, track: d.tracks.process(of), threads: make(map[int32]*thread)}
		d.processes[key] = p
	}
	return p
}

// recordingEnd is until when a process was recorded.
func (d *drawing) recordingEnd(p *process) int64 {
	if p.RecordingEndTimestamp.Valid {
		return p.RecordingEndTimestamp.Value
	}
	return d.last
}

// on returns the thread of that number.
func (m *threadMemory) on(d *drawing, tid int32) *thread {
	if m.thread != nil && m.thread.tid == tid {
		return m.thread
	}
	p := d.process(m.process)
	t := p.threads[tid]
	if t == nil {
		t = &thread{process: p, tid: tid, track: d.thread(p.PID, tid)}
		p.threads[tid] = t
		d.threads = append(d.threads, t)
	}
	m.thread = t
	return t
}

func (d *drawing) callback(e *analyze.Execution) *drawnCallback {
	c := d.callbacks[e.Callback]
	if c != nil {
		return c
	}
	of, named := e.Callback, analyze.NamedCallback{}
	if e.Named != nil {
		named = *e.Named
	}
	node := cmp.Or(of.Node.Name, named.NodeName)
	topic := cmp.Or(of.TopicName, of.ServiceName, named.TopicName)
	kind := cmp.Or(of.Kind, named.Kind)
	symbol := cmp.Or(of.Symbol, named.Symbol)
	name := nameOf(node) + " " + cmp.Or(topic, string(kind), symbol, of.Name)
	if kind == trace.KindTimer && of.Period.Valid {
		name += " " + time.Duration(of.Period.Value).String()
	}
	describe := func(event []byte) []byte {
		return d.text(d.text(d.text(event, "callback", of.Name), "topic", topic), "symbol", symbol)
	}
	c = &drawnCallback{
		begin: describe(d.event(sliceBegin, categoryCallback, name)), instant: describe(d.event(instant, categoryCallback, name)),
		onNode: d.event(sliceBegin, categoryNode, name), place: threadMemory{process: of.Node.Process}, node: d.node(of.Node.Process, node),
	}
	d.callbacks[of] = c
	return c
}

func (d *drawing) node(process trace.ProcessKey, name string) *drawnNode {
	key := nodeKey{process, name}
	n := d.nodes[key]
	if n == nil {
		track := d.process(process).track
		n = &drawnNode{lanes: &lanes{name: nameOf(name), parent: track}, rate: d.newRate(nameOf(name)+" callbacks", track)}
		d.nodes[key] = n
	}
	return n
}

// newRate makes the counter of something.
func (d *drawing) newRate(name string, parent uint64) *rate {
	r := &rate{track: d.counter(name, "per second", parent)}
	d.rates = append(d.rates, r)
	return r
}

// publisher returns what the publishes of a publisher have in common.
func (d *drawing) publisher(of *system.Publisher) *drawnPlace {
	p := d.places[of]
	if p == nil {
		event := d.event(instant, categoryPublish, "publish "+cmp.Or(of.TopicName, "unknown topic"))
		event = d.text(d.text(event, "node", of.Node.Name), "topic", of.TopicName)
		p = &drawnPlace{event: event, place: threadMemory{process: of.Node.Process}, rate: d.topic(of.TopicName)}
		d.places[of] = p
	}
	return p
}

// topic returns the rate of a topic.
func (d *drawing) topic(name string) *rate {
	r := d.topics[name]
	if r == nil {
		if d.topicsTop == 0 {
			d.topicsTop = d.describe("topics", 0)
		}
		r = d.newRate(cmp.Or(name, "unknown topic")+" publishes", d.topicsTop)
		d.topics[name] = r
	}
	return r
}

// poll returns what the polls of a subscription have in common.
func (d *drawing) poll(of *system.Subscription) *drawnPlace {
	p := d.polled[of]
	if p == nil {
		event := d.event(instant, categoryPoll, "take "+cmp.Or(of.TopicName, "unknown topic"))
		event = d.text(d.text(event, "node", of.Node.Name), "topic", of.TopicName)
		p = &drawnPlace{event: event, place: threadMemory{process: of.Node.Process}}
		d.polled[of] = p
	}
	return p
}

// execution draws an execution on the tracks of its thread and of its node.
func (d *drawing) execution(e *analyze.Execution, flow analyze.Flow) {
	c := d.callback(e)
	t := c.place.on(d, e.TID)
	c.node.rate.add(d.packetWriter, e.At())
	d.summary.Callbacks++
	if !e.Start.Valid {
		b := appendNumber(d.scratch[:0], d.cpu, int64(e.CPU))
		b = d.text(d.text(b, "status", string(e.Status)), "start", startNotSeen)
		d.instantOn(t, e.At(), e.Depth, c.instant, b)
		return
	}
	begin := e.Start.Value
	end := e.End
	if end.Valid {
		end.Value = max(end.Value, begin)
	}
	left, fits := t.fits(e)
	track := t.track
	var aside *lane
	if fits {
		t.closeTo(left, d)
		t.last = max(t.last, begin)
	} else {
		d.summary.Overlapping++
		if t.overlapping == nil {
			t.overlapping = &lanes{name: fmt.Sprintf("overlapping on thread %d", t.tid), parent: t.process.track}
		}
		if !end.Valid {
			end = trace.Some(begin)
		}
		aside = t.overlapping.free(&d.tracks, begin, end.Value)
		track = aside.uuid
	}
	onNode := c.node.lanes.free(&d.tracks, begin, openEnd(end))
	// The node's comes first: by it Perfetto learns of the process, whose PID may have been another's.
	d.occurredOn(begin, c.onNode, onNode.uuid, nil)
	b := d.arguments(d.scratch[:0], e)
	if flow != 0 {
		d.summary.Flows++
		b = appendFixed64(b, eventTerminatingFlows, uint64(flow))
	}
	d.occurredOn(begin, c.begin, track, b)
	d.scratch = b
	if aside != nil {
		d.end(aside.uuid, end.Value)
	}
	if end.Valid {
		d.end(onNode.uuid, end.Value)
		onNode = nil
	}
	if aside == nil {
		t.open = append(t.open, openSlice{depth: e.Depth, end: end, status: e.Status, onNode: onNode})
	}
}

// openEnd is an end, forever if there is none.
func openEnd(end trace.Optional[int64]) int64 {
	if !end.Valid {
		return forever
	}
	return end.Value
}

// arguments adds those that differ from execution to execution.
func (d *drawing) arguments(b []byte, e *analyze.Execution) []byte {
	b = appendNumber(b, d.cpu, int64(e.CPU))
	if e.EndCPU.Valid && e.EndCPU.Value != e.CPU {
		b = appendNumber(b, d.endCPU, int64(e.EndCPU.Value))
	}
	if e.Overhead.Valid {
		b = appendNumber(b, d.overhead, e.Overhead.Value)
	}
	if parts := e.Parts.Value; e.Parts.Valid {
		for i, part := range []int64{parts.CPUTime, parts.PreemptedTime, parts.BlockedTime, parts.WakeupLatency} {
			b = appendNumber(b, d.parts[i], part)
		}
	}
	if delayed := d.delays.of(e); delayed != nil {
		b = d.before(b, delayed)
	}
	if e.Status != trace.CallbackComplete {
		b = d.text(b, "status", string(e.Status))
		if e.Status == trace.CallbackRecordingEnd {
			b = d.text(b, "end", endAtRecordingEnd)
		} else {
			b = d.text(b, "end", endAtLastEvent)
		}
	}
	return b
}

// instantOn draws an instant on a thread's track, in what runs there then. The event is as for occurredOn.
func (d *drawing) instantOn(t *thread, at int64, depth int32, event, more []byte) {
	left := len(t.open)
	for left > 0 && t.open[left-1].isOverAt(at, depth) {
		left--
	}
	t.closeTo(left, d)
	t.last = max(t.last, at)
	d.occurredOn(at, event, t.track, more)
	d.scratch = more
}

// publication draws a publish.
func (d *drawing) publication(p *analyze.Publication) {
	of := d.publisher(p.Publisher)
	of.rate.add(d.packetWriter, p.At)
	d.summary.Publishes++
	t := of.place.on(d, p.TID)
	b := d.scratch[:0]
	for _, flow := range p.Flows {
		b = appendFixed64(b, eventFlowIDs, uint64(flow))
	}
	if p.Status != trace.PublishComplete {
		b = d.text(b, "status", string(p.Status))
	}
	d.instantOn(t, p.At, p.Depth, of.event, b)
}

// take draws a polled message.
func (d *drawing) take(p *analyze.Poll, flow analyze.Flow) {
	of := d.poll(p.Subscription)
	d.summary.Polls++
	t := of.place.on(d, p.TID)
	b := d.scratch[:0]
	if flow != 0 {
		d.summary.Flows++
		b = appendFixed64(b, eventTerminatingFlows, uint64(flow))
	}
	d.instantOn(t, p.At, deepest, of.event, b)
}

// deepest is the depth of what is in all that runs.
const deepest = 1 << 30

// end ends the slice on a track that began last.
func (d *drawing) end(track uint64, at int64) {
	d.occurredOn(at, endEvent, track, nil)
}

// endEvent is what the end of a slice begins with.
var endEvent = appendVarint(nil, eventType, sliceEnd)

// finish ends what is open, and the counters.
func (d *drawing) finish() {
	for _, t := range d.threads {
		t.finish(d)
	}
	for _, r := range d.rates {
		r.end(d.packetWriter)
	}
}
