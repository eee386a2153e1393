package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// departureColumns are the columns of publish that tell when a message left and which it was.
type departureColumns struct {
	trace.ProcessKey
	TID             int32                 `column:"tid"`
	PublishNumber   uint64                `column:"publish_number,delta"`
	PublisherHandle trace.Address         `column:"publisher_handle,null"`
	Intra           trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	Rclcpp          trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	Rcl             trace.Optional[int64] `column:"rcl_publish_timestamp"`
	RMW             trace.Optional[int64] `column:"rmw_publish_timestamp"`
	Source          trace.Optional[int64] `column:"source_timestamp"`
	EnqueueCount    uint32                `column:"enqueue_count"`
	Callback        trace.Address         `column:"callback,null"`
	CallbackStart   trace.Optional[int64] `column:"callback_start_timestamp"`
}

// detailedDepartureColumns tell besides of publishers that no entity table has, and when the message was written.
type detailedDepartureColumns struct {
	departureColumns
	Written   trace.Optional[int64] `column:"dds_bind_addr_to_stamp_timestamp"`
	TopicName string                `column:"topic_name,null"`
	NodeName  string                `column:"node_name,null"`
}

// arrivalColumns are the columns of callback that tell which message started it.
type arrivalColumns struct {
	trace.ProcessKey
	Callback           trace.Address          `column:"callback"`
	Start              trace.Optional[int64]  `column:"callback_start_timestamp"`
	End                trace.Optional[int64]  `column:"callback_end_timestamp"`
	Source             trace.Optional[int64]  `column:"source_timestamp"`
	Take               trace.Optional[int64]  `column:"rmw_take_timestamp"`
	DequeueIndex       trace.Optional[uint64] `column:"dequeue_index"`
	Dequeue            trace.Optional[int64]  `column:"dequeue_timestamp"`
	SubscriptionHandle trace.Address          `column:"subscription_handle,null"`
	PublisherGID       string                 `column:"publisher_gid,null"`
}

// detailedArrivalColumns tell besides of subscriptions that no entity table has.
type detailedArrivalColumns struct {
	arrivalColumns
	TopicName string `column:"topic_name,null"`
	NodeName  string `column:"node_name,null"`
}

// takeColumns are the columns of take that tell which message was polled.
type takeColumns struct {
	trace.ProcessKey
	Source             trace.Optional[int64]  `column:"source_timestamp"`
	Take               trace.Optional[int64]  `column:"rmw_take_timestamp"`
	Buffer             trace.Address          `column:"buffer,null"`
	DequeueIndex       trace.Optional[uint64] `column:"dequeue_index"`
	Dequeue            trace.Optional[int64]  `column:"dequeue_timestamp"`
	Callback           trace.Address          `column:"callback,null"`
	CallbackStart      trace.Optional[int64]  `column:"callback_start_timestamp"`
	SubscriptionHandle trace.Address          `column:"subscription_handle,null"`
	TopicName          string                 `column:"topic_name,null"`
	NodeName           string                 `column:"node_name,null"`
	PublisherGID       string                 `column:"publisher_gid,null"`
}

// enqueueColumns are the columns of enqueue that tell which publish put a message where.
type enqueueColumns struct {
	trace.ProcessKey
	TID           int32                  `column:"tid"`
	Buffer        trace.Address          `column:"buffer"`
	Index         uint64                 `column:"index"`
	At            int64                  `column:"enqueue_timestamp"`
	PublishNumber trace.Optional[uint64] `column:"publish_number,delta"`
}

// messageReader makes messages of rows. Each goroutine has one.
type messageReader struct {
	query         *Query
	callbacks     *lookup[*Callback]
	publishers    *lookup[*Publisher]
	subscriptions *lookup[*Subscription]
	buffers       *lookup[*Subscription]
	wanted        *wantedMessages

	enqueues slab[enqueue]

	processes processNumbers
	numbers   [][]int32 // the query's numbers of processes, by dataset and the reader's number; 0 where not looked up yet
}

// wantedMessages says which messages a query needs.
type wantedMessages struct {
	publisher    func(*Publisher) bool
	subscription func(*Subscription) bool
	// callback tells whether every execution of a callback is needed; it may be nil.
	callback func(*Callback) bool
	// known says that nothing is wanted of entities that only rows name, not the entity tables. Else topic tells which of their topics
	// are wanted; nil: all.
	known bool
	topic func(name string) bool
}

func newMessageReader(q *Query, wanted *wantedMessages) *messageReader {
	index := q.Architecture.index
	return &messageReader{
		query: q, wanted: wanted, callbacks: newLookup(index.callbacks), publishers: newLookup(index.publishers),
		subscriptions: newLookup(index.subscriptions), buffers: newLookup(index.buffers), numbers: make([][]int32, len(q.datasets)),
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

// departureNamed makes a departure of a publisher that, where no entity table has it, goes by these names. Without a topic it is nil then.
func (r *messageReader) departureNamed(row *departureColumns, dataset int, topic, node string) *departure {
	clock := &r.query.clocks[dataset]
	intra, rclcpp, rcl, rmw := clock.orNone(row.Intra), clock.orNone(row.Rclcpp), clock.orNone(row.Rcl), clock.orNone(row.RMW)
	at := firstOf(intra, rclcpp)
	if at == noTime {
		at = firstOf(rcl, rmw)
	}
	if at == noTime {
		return nil
	}
	raw := firstTime(row.Intra, row.Rclcpp, row.Rcl, row.RMW)
	p := r.publishers.find(&row.ProcessKey, row.PublisherHandle, raw)
	if p == nil || p.TopicName == "" {
		if topic == "" {
			return nil
		}
		p = r.query.unknown.publisher(row.ProcessKey, row.PublisherHandle, topic, node)
	}
	if !r.wanted.publisher(p) {
		return nil
	}
	d := &departure{
		publisher: p, dataset: dataset, at: at, intra: intra, rclcpp: rclcpp, rcl: rcl, rmw: rmw, written: noTime,
		source: row.Source, start: noTime, enqueues: row.EnqueueCount,
		number: publishNumber{r.process(dataset, &row.ProcessKey), row.TID, row.PublishNumber},
	}
	if row.Callback != 0 && row.CallbackStart.Valid {
		d.callback, d.start = r.callback(&row.ProcessKey, row.Callback, row.CallbackStart.Value), clock.correct(row.CallbackStart.Value)
	}
	return d
}

func (r *messageReader) callback(process *trace.ProcessKey, address trace.Address, at int64) *Callback {
	if c := r.callbacks.find(process, address, at); c != nil {
		return c
	}
	return r.query.unknown.callback(*process, address)
}

func (r *messageReader) arrival(row *arrivalColumns, dataset int) *arrival {
	return r.arrivalNamed(row, dataset, "", "")
}

func (r *messageReader) detailedArrival(row *detailedArrivalColumns, dataset int) *arrival {
	return r.arrivalNamed(&row.arrivalColumns, dataset, row.TopicName, row.NodeName)
}

// arrivalNamed makes an arrival at a subscription that, where no entity table has it, goes by these names. Without a topic it is unknown then.
func (r *messageReader) arrivalNamed(row *arrivalColumns, dataset int, topic, node string) *arrival {
	message := row.Source.Valid || row.DequeueIndex.Valid
	if !row.Start.Valid || !message && r.wanted.callback == nil {
		return nil
	}
	c := r.callback(&row.ProcessKey, row.Callback, row.Start.Value)
	var s *Subscription
	if message {
		if s = c.Subscription; s == nil {
			s = r.subscription(&row.ProcessKey, row.SubscriptionHandle, 0, row.Start.Value, topic, node)
		}
		if s != nil && !r.wanted.subscription(s) {
			s = nil
		}
	}
	if s == nil && (r.wanted.callback == nil || !r.wanted.callback(c)) {
		return nil
	}
	clock := &r.query.clocks[dataset]
	a := &arrival{
		subscription: s, dataset: dataset, callback: c, start: clock.correct(row.Start.Value), end: clock.orNone(row.End),
		take: clock.orNone(row.Take), source: row.Source, gid: row.PublisherGID,
	}
	if row.DequeueIndex.Valid {
		a.dequeue, a.take = row.DequeueIndex, clock.orNone(row.Dequeue)
	}
	return a
}

// process returns the number of a process in a dataset.
func (r *messageReader) process(dataset int, key *trace.ProcessKey) int32 {
	n := int(r.processes.number(key))
	of := &r.numbers[dataset]
	for len(*of) <= n {
		*of = append(*of, 0)
	}
	if (*of)[n] == 0 {
		(*of)[n] = r.query.recorded.number(dataset, *key)
	}
	return (*of)[n]
}

// subscription finds a subscription by any of its handles or, where no entity has them, by the topic; nil where that is unknown.
func (r *messageReader) subscription(process *trace.ProcessKey, handle, buffer trace.Address, at int64, topic, node string) *Subscription {
	s := r.subscriptions.find(process, handle, at)
	if s == nil {
		s = r.buffers.find(process, buffer, at)
	}
	if s == nil && topic != "" {
		s = r.query.unknown.subscription(*process, handle, topic, node)
	}
	return s
}

func (r *messageReader) take(row *takeColumns, dataset int) *arrival {
	raw := row.Take
	if row.DequeueIndex.Valid {
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
		subscription: s, dataset: dataset, polled: true, start: at, end: noTime, take: at,
		source: row.Source, gid: row.PublisherGID, dequeue: row.DequeueIndex,
	}
	if row.Callback != 0 && row.CallbackStart.Valid {
		a.callback = r.callback(&row.ProcessKey, row.Callback, row.CallbackStart.Value)
		a.within = r.query.clocks[dataset].correct(row.CallbackStart.Value)
	}
	return a
}

func (r *messageReader) enqueue(row *enqueueColumns, dataset int) *enqueue {
	s := r.buffers.find(&row.ProcessKey, row.Buffer, row.At)
	if s == nil || !r.wanted.subscription(s) {
		return nil
	}
	e := r.enqueues.new()
	*e = enqueue{
		subscription: s, at: r.query.clocks[dataset].correct(row.At), index: row.Index, published: row.PublishNumber.Valid,
		number: publishNumber{r.process(dataset, &row.ProcessKey), row.TID, row.PublishNumber.Value},
	}
	return e
}

// messages are the streams of all that happens to messages.
type messages struct {
	departures stream[departure]
	arrivals   stream[arrival]
	takes      stream[arrival]
	enqueues   stream[enqueue]
	damaged    damages
}

// messageWindow is what happened to messages in a window of time, each in the order of time.
type messageWindow struct {
	departures []*departure
	arrivals   []*arrival // of callbacks, by their start, and polled ones, by their take
	enqueues   []*enqueue
	// limit is the end of the window: later windows hold nothing before it.
	limit int64
}

// publishTimes are the columns that tell when a publish happened.
var publishTimes = []string{"rclcpp_intra_publish_timestamp", "rclcpp_publish_timestamp", "rcl_publish_timestamp", "rmw_publish_timestamp"}

// eachMessageWindow passes all wanted messages on, window after window.
func (q *Query) eachMessageWindow(ctx context.Context, wanted *wantedMessages, each func(*messageWindow) error) error {
	var m messages
	source := newEventSource(q, wanted, &m.damaged)
	// What is published in the time that is asked for arrives in it or later.
	source.prune = func(_, end int64) bool { return q.filter.From.Valid && end < q.filter.From.Value }
	if err := m.open(ctx, source, wanted); err != nil {
		return err
	}
	source.progress = q.newProgress(m.departures.groups, m.arrivals.groups, m.takes.groups, m.enqueues.groups)
	limits := windowLimits(m.departures.groups, m.arrivals.groups, m.takes.groups, m.enqueues.groups)
	if err := readAhead(ctx, limits, m.reading, each); err != nil {
		return err
	}
	return q.warnOfDamage(m.damaged.err())
}

// open prepares the streams.
func (m *messages) open(ctx context.Context, source *eventSource, wanted *wantedMessages) (err error) {
	published, started, put := func(d *departure) int64 { return d.at }, func(a *arrival) int64 { return a.start }, func(e *enqueue) int64 { return e.at }
	starts, takes, enqueues := []string{"callback_start_timestamp"}, []string{"rmw_take_timestamp", "dequeue_timestamp"}, []string{"enqueue_timestamp"}
	selections := wanted.selections(source.query.Architecture.index)
	if wanted.known {
		m.departures, err = newStream(ctx, source, trace.TablePublish, publishTimes, selections.departures, (*messageReader).departure, published)
	} else {
		m.departures, err = newStream(ctx, source, trace.TablePublish, publishTimes, selections.departures, (*messageReader).detailedDeparture, published)
	}
	if err != nil {
		return err
	}
	if wanted.known {
		m.arrivals, err = newStream(ctx, source, trace.TableCallback, starts, selections.arrivals, (*messageReader).arrival, started)
	} else {
		m.arrivals, err = newStream(ctx, source, trace.TableCallback, starts, selections.arrivals, (*messageReader).detailedArrival, started)
	}
	if err != nil {
		return err
	}
	if m.takes, err = newStream(ctx, source, trace.TableTake, takes, selections.takes, (*messageReader).take, started); err != nil {
		return err
	}
	m.enqueues, err = newStream(ctx, source, trace.TableEnqueue, enqueues, selections.enqueues, (*messageReader).enqueue, put)
	return err
}

// reading returns what has to be read for the messages before a limit, and what makes the window of it.
func (m *messages) reading(limit int64) (tasks []readTask, finish func() *messageWindow) {
	departureTasks, departures := m.departures.reading(limit)
	arrivalTasks, arrivals := m.arrivals.reading(limit)
	takeTasks, takes := m.takes.reading(limit)
	enqueueTasks, enqueues := m.enqueues.reading(limit)
	return slices.Concat(departureTasks, arrivalTasks, takeTasks, enqueueTasks), func() *messageWindow {
		w := messageWindow{departures: departures(), arrivals: arrivals(), enqueues: enqueues(), limit: limit}
		w.arrivals = mergeByTime(w.arrivals, takes(), func(a *arrival) int64 { return a.start })
		return &w
	}
}

// mergeByTime merges two lists in the order of time.
func mergeByTime[E any](a, b []*E, at func(*E) int64) []*E {
	if len(b) == 0 {
		return a
	}
	merged := make([]*E, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if at(b[0]) < at(a[0]) {
			merged, b = append(merged, b[0]), b[1:]
		} else {
			merged, a = append(merged, a[0]), a[1:]
		}
	}
	return append(append(merged, a...), b...)
}
