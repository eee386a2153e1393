package live

import (
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/follow"
	"github.com/caret-bpf/caret-bpf/trace"
)

const (
	// settling is how long after an instant its rows are expected: what lasts longer is missing until it has ended.
	settling = time.Second
	// maxValues bounds how many values are kept of all: the span gets shorter.
	maxValues = 1 << 20
	// maxNames bounds how many callbacks, and how many publishers, are kept.
	maxNames = 8192
	// maxPending bounds how many callbacks wait for the publish of their message, and pendingPatience how long.
	maxPending      = 1 << 14
	pendingPatience = 5 * time.Second
	// memory is how long something is shown that does nothing any more.
	memory = time.Minute
	// freshness is how old an answer may be: who asks more often gets the same again.
	freshness = 200 * time.Millisecond
	// oldShare is the part of the span, as a divisor, that what is too old takes before it is given up: giving up copies
	// all, and rows wait for it.
	oldShare = 16
)

// Window keeps what there was in the last seconds. Its methods may be called by several goroutines.
type Window struct {
	span time.Duration

	mu         sync.Mutex
	callbacks  map[callbackKey]*callback
	publishers map[publisherKey]*publisher
	timers     *Timers
	messages   follow.Messages
	pending    []pendingArrival
	paths      []*path
	losses     []trace.Loss
	values     int   // how many are kept
	since      int64 // from when on everything is kept
	beyond     uint64

	// last is what was told last, at lastAt. One is made at a time.
	telling sync.Mutex
	last    Snapshot
	lastAt  int64
}

// NewWindow keeps what comes from now on, of so much time. since is now, on the dataset's clock.
func NewWindow(span time.Duration, since int64, timers *Timers, paths []PathDefinition) *Window {
	w := &Window{span: span, since: since, timers: timers, callbacks: map[callbackKey]*callback{}, publishers: map[publisherKey]*publisher{}}
	for _, d := range paths {
		w.paths = append(w.paths, &path{PathDefinition: d, way: follow.Path{Begins: d.From.MatchString, Ends: d.To.MatchString}})
	}
	return w
}

// place is where an entity is: addresses are used again, so that its names are a part of its key.
type place struct {
	owner
	address trace.Address
}

func placeOf(key *trace.ProcessKey, address trace.Address) place { return place{ownerOf(key), address} }

type callbackKey struct {
	place
	node, name string
}

// callback is what is kept of one.
type callback struct {
	node, name, topic string
	kind              trace.CallbackKind
	pid               int32
	period, origin    trace.Optional[int64]
	lastSeen          int64
	executions        []execution
	arrivals          []arrival
	// first is when the first message was published that it got; 0: it got none yet.
	first int64
}

// execution is one of a callback.
type execution struct {
	start int64
	// duration is null for one without an end, overhead where that is.
	duration, overhead trace.Optional[int64]
	// source identifies the message that it got, among those of its topic; null where there is none, or one of a buffer.
	source    trace.Optional[int64]
	outermost bool
}

// arrival is a message that a callback got, and whose publish is known.
type arrival struct {
	published, start int64
	inBuffer         bool
}

// pendingArrival is a message whose publish is not known yet.
type pendingArrival struct {
	of    *callback
	taken follow.Taken
	arrival
}

type publisherKey struct {
	place
	node, topic string
}

// publisher is what is kept of one.
type publisher struct {
	node, topic string
	pid         int32
	lastSeen    int64
	sent        []sent
}

// sent is a message that was published.
type sent struct {
	at     int64
	source trace.Optional[int64]
}

// path is a path that is asked for, and what arrived at its end.
type path struct {
	PathDefinition
	way      follow.Path
	arrivals []arrival
}

func (p *path) arrived(row *trace.Callback, begin follow.Message) {
	p.arrivals = append(p.arrivals, arrival{published: begin.At, start: row.CallbackStartTimestamp.Value})
}

// Look keeps what rows tell.
func (w *Window) Look(b *trace.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range b.Publishes {
		w.keepPublish(&b.Publishes[i])
	}
	w.messages.Look(b)
	for i := range b.Callbacks {
		w.keepCallback(&b.Callbacks[i])
	}
	for _, row := range b.Losses {
		if len(w.losses) < maxNames {
			w.losses = append(w.losses, row)
		} else {
			w.beyond++
		}
	}
	for _, p := range w.paths {
		before := len(p.arrivals)
		p.way.Look(b, p.arrived)
		w.values += len(p.arrivals) - before
	}
	if w.values > maxValues {
		w.shorten()
	}
}

func (w *Window) keepPublish(row *trace.Publish) {
	at, ok := follow.PublishedAt(row)
	if !ok {
		return
	}
	handle := row.PublisherHandle
	if handle == 0 {
		handle = row.RMWPublisherHandle
	}
	key := publisherKey{placeOf(&row.ProcessKey, handle), row.NodeName, row.TopicName}
	of := w.publishers[key]
	if of == nil {
		if len(w.publishers) >= maxNames {
			w.beyond++
			return
		}
		of = &publisher{node: row.NodeName, topic: row.TopicName, pid: row.PID}
		w.publishers[key] = of
	}
	of.lastSeen = max(of.lastSeen, at)
	of.sent = append(of.sent, sent{at, row.SourceTimestamp})
	w.values++
}

func (w *Window) keepCallback(row *trace.Callback) {
	if !row.CallbackStartTimestamp.Valid {
		return
	}
	of := w.callbackOf(row)
	if of == nil {
		w.beyond++
		return
	}
	start := row.CallbackStartTimestamp.Value
	e := execution{start: start, overhead: row.Overhead, source: row.SourceTimestamp, outermost: row.Depth == 0}
	if row.CallbackEndTimestamp.Valid {
		e.duration = trace.Some(row.CallbackEndTimestamp.Value - start)
	}
	of.lastSeen = max(of.lastSeen, start)
	of.executions = append(of.executions, e)
	w.values++
	if taken := follow.TakenBy(row); taken != (follow.Taken{}) {
		if p := (pendingArrival{of, taken, arrival{start: start, inBuffer: !row.SourceTimestamp.Valid}}); !w.arrive(p) {
			w.wait(p)
		}
	}
}

// callbackOf is what is kept of a row's callback, nil if there is no room.
func (w *Window) callbackOf(row *trace.Callback) *callback {
	name := row.Label()
	key := callbackKey{placeOf(&row.ProcessKey, row.Callback), row.NodeName, name}
	of := w.callbacks[key]
	if of == nil {
		if len(w.callbacks) >= maxNames {
			return nil
		}
		of = &callback{node: row.NodeName, name: name, topic: row.TopicName, kind: row.Kind, pid: row.PID, period: row.Period}
		w.callbacks[key] = of
	}
	if row.Kind == trace.KindTimer { // another one may be there meanwhile, with the same function
		of.period = row.Period
		of.origin = w.timers.origin(key.place, row.CallbackStartTimestamp.Value)
	}
	return of
}

// arrive keeps an arrival if its publish is known.
func (w *Window) arrive(p pendingArrival) bool {
	message, ok := w.messages.Published(p.taken)
	if !ok {
		return false
	}
	p.published = message.At
	if p.of.first == 0 || message.At < p.of.first {
		p.of.first = message.At
	}
	p.of.arrivals = append(p.of.arrivals, p.arrival)
	w.values++
	return true
}

// wait has an arrival wait for its publish. If too many do, the oldest is given up.
func (w *Window) wait(p pendingArrival) {
	if len(w.pending) >= maxPending {
		if !w.arrive(w.pending[0]) {
			w.beyond++
		}
		w.pending = w.pending[1:] // of which nobody else knows
	}
	w.pending = append(w.pending, p)
}

// shorten gives up the older half of the time.
func (w *Window) shorten() {
	newest := w.since
	for _, of := range w.callbacks {
		newest = max(newest, of.lastSeen)
	}
	for _, of := range w.publishers {
		newest = max(newest, of.lastSeen)
	}
	w.forget(w.since + (newest-w.since)/2 + 1)
}

// forget gives up what was before an instant, but for executions that may have lasted until then.
func (w *Window) forget(before int64) {
	w.since = before
	w.values = 0
	for key, of := range w.callbacks {
		of.executions = keepIf(of.executions, func(e execution) bool { return e.start+max(e.duration.Value, 0) >= before })
		of.arrivals = keepIf(of.arrivals, func(a arrival) bool { return a.start >= before })
		w.values += len(of.executions) + len(of.arrivals)
		if of.lastSeen < before-memory.Nanoseconds() {
			delete(w.callbacks, key)
		}
	}
	for key, of := range w.publishers {
		of.sent = keepIf(of.sent, func(s sent) bool { return s.at >= before })
		w.values += len(of.sent)
		if of.lastSeen < before-memory.Nanoseconds() {
			delete(w.publishers, key)
		}
	}
	for _, p := range w.paths {
		p.arrivals = keepIf(p.arrivals, func(a arrival) bool { return a.start >= before })
		w.values += len(p.arrivals)
	}
	w.losses = keepIf(w.losses, func(l trace.Loss) bool { return l.ToTimestamp >= before })
}

// keepIf returns those values that are to be kept, in memory of their own: who took all goes on with them.
func keepIf[T any](all []T, keep func(T) bool) []T {
	kept := make([]T, 0, len(all))
	for _, value := range all {
		if keep(value) {
			kept = append(kept, value)
		}
	}
	return kept
}
