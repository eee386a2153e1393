package analyze

import (
	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// messageReader makes messages of rows. Each goroutine has one.
type messageReader struct {
	query         *Query
	callbacks     *system.Lookup[*system.Callback]
	publishers    *system.Lookup[*system.Publisher]
	subscriptions *system.Lookup[*system.Subscription]
	buffers       *system.Lookup[*system.Subscription]
	wanted        *wantedMessages

	enqueues slab[enqueue]
	// Of timelines.
	departures   slab[departure]
	publications reusedMaker[Publication]
	executions   reusedMaker[Execution]

	processes system.ProcessNumbers
	numbers   [][]int32 // the query's numbers of processes, by dataset and the reader's number; 0 where not looked up yet
}

// wantedMessages says which messages a query needs.
type wantedMessages struct {
	publisher    func(*system.Publisher) bool
	subscription func(*system.Subscription) bool
	// callback tells whether every execution of a callback is needed; it may be nil.
	callback func(*system.Callback) bool
	// known says that nothing is wanted of entities that only rows name, not the entity tables. Else topic tells which of
	// their topics are wanted; nil: all.
	known bool
	topic func(name string) bool
	// whenever says that messages are wanted that passed before the time which is asked for, too.
	whenever bool
}

func newMessageReader(q *Query, wanted *wantedMessages) *messageReader {
	index := q.Architecture.Index()
	return &messageReader{
		query: q, wanted: wanted, callbacks: system.NewLookup(index.Callbacks), publishers: system.NewLookup(index.Publishers),
		subscriptions: system.NewLookup(index.Subscriptions), buffers: system.NewLookup(index.Buffers), numbers: make([][]int32, len(q.datasets)),
	}
}

func (r *messageReader) departure(row *departureColumns, dataset int) *departure {
	return r.departureNamed(row, dataset, "", "")
}

func (r *messageReader) detailedDeparture(row *detailedDepartureColumns, dataset int) *departure {
	d := r.departureNamed(&row.departureColumns, dataset, row.TopicName, row.NodeName)
	if d != nil {
		d.written = r.query.clocks[dataset].orNone(row.Written)
	}
	return d
}

// departureNamed makes a departure of a publisher that, where no entity table has it, goes by these names. Without a
// topic it is nil then.
func (r *messageReader) departureNamed(row *departureColumns, dataset int, topic, node string) *departure {
	d := new(departure)
	if !r.setDeparture(d, row, dataset, topic, node) {
		return nil
	}
	return d
}

// setDeparture is departureNamed for a departure that is there.
func (r *messageReader) setDeparture(d *departure, row *departureColumns, dataset int, topic, node string) bool {
	clock := &r.query.clocks[dataset]
	intra, rclcpp, rcl, rmw := clock.orNone(row.Intra), clock.orNone(row.Rclcpp), clock.orNone(row.Rcl), clock.orNone(row.RMW)
	at := firstOf(intra, rclcpp)
	if at == noTime {
		at = firstOf(rcl, rmw)
	}
	if at == noTime {
		return false
	}
	raw := scan.FirstTime(row.Intra, row.Rclcpp, row.Rcl, row.RMW)
	p := r.publishers.Find(&row.ProcessKey, row.PublisherHandle, raw)
	if p == nil || p.TopicName == "" {
		if topic == "" {
			return false
		}
		p = r.query.unknown.Publisher(row.ProcessKey, row.PublisherHandle, topic, node)
	}
	if !r.wanted.publisher(p) {
		return false
	}
	*d = departure{
		publisher: p, dataset: dataset, at: at, intra: intra, rclcpp: rclcpp, rcl: rcl, rmw: rmw, written: noTime,
		source: row.Source, start: noTime, enqueues: row.EnqueueCount,
		number: publishNumber{r.process(dataset, &row.ProcessKey), row.TID, row.PublishNumber},
	}
	if row.Callback != 0 && row.CallbackStart.Valid {
		d.callback, d.start = r.callback(&row.ProcessKey, row.Callback, row.CallbackStart.Value), clock.correct(row.CallbackStart.Value)
	}
	return true
}

func (r *messageReader) callback(process *trace.ProcessKey, address trace.Address, at int64) *system.Callback {
	if c := r.callbacks.Find(process, address, at); c != nil {
		return c
	}
	return r.query.unknown.Callback(*process, address)
}

func (r *messageReader) arrival(row *arrivalColumns, dataset int) *arrival {
	return r.arrivalNamed(row, dataset, "", "")
}

func (r *messageReader) detailedArrival(row *detailedArrivalColumns, dataset int) *arrival {
	return r.arrivalNamed(&row.arrivalColumns, dataset, row.TopicName, row.NodeName)
}

// arrivalNamed makes an arrival at a subscription that, where no entity table has it, goes by these names. Without a
// topic it is unknown then.
func (r *messageReader) arrivalNamed(row *arrivalColumns, dataset int, topic, node string) *arrival {
	a := new(arrival)
	if !r.setArrival(a, row, dataset, topic, node) {
		return nil
	}
	return a
}

// setArrival is arrivalNamed for an arrival that is there.
func (r *messageReader) setArrival(a *arrival, row *arrivalColumns, dataset int, topic, node string) bool {
	message := row.Source.Valid || row.Dequeue.Valid
	if !row.Start.Valid || !message && r.wanted.callback == nil {
		return false
	}
	c := r.callback(&row.ProcessKey, row.Callback, row.Start.Value)
	var s *system.Subscription
	if message {
		if s = c.Subscription; s == nil {
			s = r.subscription(&row.ProcessKey, row.SubscriptionHandle, 0, row.Start.Value, topic, node)
		}
		if s != nil && !r.wanted.subscription(s) {
			s = nil
		}
	}
	if s == nil && (r.wanted.callback == nil || !r.wanted.callback(c)) {
		return false
	}
	clock := &r.query.clocks[dataset]
	*a = arrival{
		subscription: s, dataset: dataset, tid: row.TID, callback: c, start: clock.correct(row.Start.Value), end: clock.orNone(row.End),
		take: clock.orNone(row.Take), source: row.Source, gid: row.PublisherGID,
	}
	if row.Dequeue.Valid {
		a.intra, a.dequeue, a.take = true, row.DequeueIndex, clock.orNone(row.Dequeue)
	}
	return true
}

// process returns the number of a process in a dataset.
func (r *messageReader) process(dataset int, key *trace.ProcessKey) int32 {
	n := int(r.processes.Number(key))
	of := &r.numbers[dataset]
	for len(*of) <= n {
		*of = append(*of, 0)
	}
	if (*of)[n] == 0 {
		(*of)[n] = r.query.recorded.number(dataset, *key)
	}
	return (*of)[n]
}

// subscription finds a subscription by any of its handles or, where no entity has them, by the topic; nil where that is
// unknown.
func (r *messageReader) subscription(process *trace.ProcessKey, handle, buffer trace.Address, at int64, topic, node string) *system.Subscription {
	s := r.subscriptions.Find(process, handle, at)
	if s == nil {
		s = r.buffers.Find(process, buffer, at)
	}
	if s == nil && topic != "" {
		s = r.query.unknown.Subscription(*process, handle, topic, node)
	}
	return s
}

func (r *messageReader) take(row *takeColumns, dataset int) *arrival {
	if row.Kind == trace.TakeIgnored {
		return nil
	}
	raw := row.Take
	if row.Dequeue.Valid {
		raw = row.Dequeue
	}
	if !raw.Valid {
		return nil
	}
	s := r.subscription(&row.ProcessKey, row.SubscriptionHandle, row.Buffer, raw.Value, row.TopicName, row.NodeName)
	if s == nil || !r.wanted.subscription(s) {
		return nil
	}
	at := r.query.clocks[dataset].correct(raw.Value)
	a := &arrival{
		subscription: s, dataset: dataset, tid: row.TID, polled: true, start: at, end: noTime, take: at,
		source: row.Source, gid: row.PublisherGID, intra: row.Dequeue.Valid, dequeue: row.DequeueIndex,
	}
	// What was taken for somebody unknown may have fed a callback inside the one that it was taken in.
	if row.Callback != 0 && row.CallbackStart.Valid && row.Kind != trace.TakeUnattributed {
		a.callback = r.callback(&row.ProcessKey, row.Callback, row.CallbackStart.Value)
		a.within = r.query.clocks[dataset].correct(row.CallbackStart.Value)
	}
	return a
}

func (r *messageReader) enqueue(row *enqueueColumns, dataset int) *enqueue {
	s := r.buffers.Find(&row.ProcessKey, row.Buffer, row.At)
	if s == nil || !r.wanted.subscription(s) {
		return nil
	}
	e := r.enqueues.new()
	*e = enqueue{
		subscription: s, at: r.query.clocks[dataset].correct(row.At), index: row.Index, taken: row.Size == 0, overwritten: row.Overwritten, published: row.PublishNumber.Valid,
		number: publishNumber{r.process(dataset, &row.ProcessKey), row.TID, row.PublishNumber.Value},
	}
	return e
}
