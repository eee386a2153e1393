package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// TimelineWindow is what programs did in a window of time. It and what it points to, but for entities, is used again
// for later windows.
type TimelineWindow struct {
	// Executions are in the order of their starts or, of those whose start is missing, of their ends.
	Executions []*Execution
	// Publications are in the order of time. The messages of Executions and Polls are of publications that were passed on
	// before, or in this window.
	Publications []*Publication
	// Polls are in the order of time.
	Polls []Poll
}

// Flow is the way of one message to one subscription: no two have the same. 0 is none.
type Flow uint64

// flowBits is how many bits of a Flow tell the subscription.
const flowBits = 16

// Publication returns the number of the publication that the message came from.
func (f Flow) Publication() uint64 { return uint64(f >> flowBits) }

// Execution is one execution of a callback. Times are in Unix nanoseconds on the query's clock.
type Execution struct {
	Callback *system.Callback
	TID, CPU int32
	// Start and End are null where Status says so.
	Start, End trace.Optional[int64]
	EndCPU     trace.Optional[int32]
	Status     trace.CallbackStatus
	// Depth is the number of callbacks that were running on the thread: 0 is outermost.
	Depth int32
	// Overhead is what the recording is expected to have added, in nanoseconds.
	Overhead trace.Optional[int64]
	// Parts are those of its duration, if they were recorded.
	Parts trace.Optional[Parts]
	// Named is what the row says of a callback that no entity table has, nil for others.
	Named *NamedCallback
	// Flow is that of the message which started it, if its publish is among the publications.
	Flow Flow

	arrival arrival
}

// NamedCallback is what rows of callbacks know of entities.
type NamedCallback struct {
	Kind                        trace.CallbackKind
	NodeName, TopicName, Symbol string
}

// At is when it started or, where that is missing, ended.
func (e *Execution) At() int64 {
	if e.Start.Valid {
		return e.Start.Value
	}
	return e.End.Value
}

// Publication is one publish of a message.
type Publication struct {
	Publisher *system.Publisher
	TID       int32
	At        int64
	Status    trace.PublishStatus
	// Depth is the number of callbacks that were running on the thread: 0 is outside of callbacks.
	Depth int32
	// Number counts the publications, from 1.
	Number uint64
	// Flows are those on which the message set out, one for each subscription that may get it. Those that are of no
	// Execution and no Poll were not received, as far as is known.
	Flows []Flow

	departure *departure
}

// Poll is a message taken without a callback that it started.
type Poll struct {
	Subscription *system.Subscription
	TID          int32
	At           int64
	Flow         Flow
}

// publicationColumns tell of a publish besides how it nested, and how it was closed.
type publicationColumns struct {
	detailedDepartureColumns
	Depth  int32               `column:"depth"`
	Status trace.PublishStatus `column:"status"`
}

// timelineColumns tell of an execution all that is known.
type timelineColumns struct {
	detailedArrivalColumns
	partColumns
	CPU      int32                 `column:"cpu"`
	Status   trace.CallbackStatus  `column:"status"`
	Depth    int32                 `column:"depth"`
	Kind     trace.CallbackKind    `column:"kind,null"`
	Symbol   string                `column:"symbol,null"`
	Overhead trace.Optional[int64] `column:"overhead,dict"`
	EndCPU   trace.Optional[int32] `column:"end_cpu"`
}

// Timeline passes on what programs did, window after window: which callbacks ran, what was published, and how messages
// went from publishes to callbacks and polls. Of a filter by topics it passes on the callbacks that receive, poll or
// publish one of them. Messages join only if both of their ends are passed on. A window may be used until each returns.
func (q *Query) Timeline(ctx context.Context, each func(*TimelineWindow) error) error {
	if len(q.filter.Topics) > 0 {
		if err := q.LoadActivity(ctx); err != nil {
			return err
		}
	}
	r := timelineReading{query: q, each: each}
	r.passages = newPassages(q, func(p *system.Publisher, s *system.Subscription) bool {
		return r.wanted.publisher(p) && r.wanted.subscription(s)
	}, r.join)
	r.wanted = q.wantedInTimeline()
	source := newEventSource(q, r.wanted, &r.damaged)
	source.prune = func(begin, end int64) bool {
		return q.filter.From.Valid && end < q.filter.From.Value || q.filter.To.Valid && begin > q.filter.To.Value
	}
	if err := r.open(ctx, source); err != nil {
		return err
	}
	groups := [][]tableGroup{r.publications.groups, r.executions.groups, r.takes.groups, r.enqueues.groups}
	source.progress = q.newProgress(groups...)
	if err := readAhead(ctx, q.windowLimits(groups...), r.reading, r.add); err != nil {
		return err
	}
	r.passages.end()
	if err := r.pass(); err != nil {
		return err
	}
	return q.warnOfDamage(r.damaged.Err())
}

func (q *Query) wantedInTimeline() *wantedMessages {
	topic := func(name string) bool { return matches(q.filter.Topics, name) }
	wanted := &wantedMessages{
		publisher:    func(p *system.Publisher) bool { return q.filter.node(p.Node) && topic(p.TopicName) },
		subscription: func(s *system.Subscription) bool { return q.filter.node(s.Node) && topic(s.TopicName) },
		callback: func(c *system.Callback) bool {
			return q.filter.callback(c) || q.filter.node(c.Node) &&
				(slices.ContainsFunc(c.Publishes, func(p system.CallbackPublish) bool { return topic(p.Publisher.TopicName) }) ||
					slices.ContainsFunc(c.Polls, func(p system.CallbackPoll) bool { return topic(p.Subscription.TopicName) }))
		},
	}
	if len(q.filter.Topics) > 0 {
		wanted.topic = topic
	}
	if len(q.filter.Topics)+len(q.filter.Nodes) > 0 {
		wanted.publisher, wanted.subscription, wanted.callback = remember(wanted.publisher), remember(wanted.subscription), remember(wanted.callback)
	}
	return wanted
}

// timelineReading reads a timeline, and joins messages in it.
type timelineReading struct {
	query    *Query
	each     func(*TimelineWindow) error
	wanted   *wantedMessages
	passages *passages
	damaged  scan.Damages

	publications stream[Publication]
	executions   stream[Execution]
	takes        stream[arrival]
	enqueues     stream[enqueue]

	numbered uint64
	// held is the last window: whose messages its callbacks and polls got may be told by the next one.
	held *messagesInTime
	// Memory that is used again.
	spare     *messagesInTime
	published reused[Publication]
	executed  reused[Execution]
}

func (r *timelineReading) open(ctx context.Context, source *eventSource) (err error) {
	selections := r.wanted.selections(r.query.Architecture.Index())
	published := append(slices.Clone(scan.PublishTimes), "dds_bind_addr_to_stamp_timestamp")
	if r.publications, err = newStream(ctx, source, trace.TablePublish, published, selections.departures, (*messageReader).publication, func(p *Publication) int64 { return p.At }); err != nil {
		return err
	}
	times := []string{"callback_start_timestamp", "callback_end_timestamp"}
	if r.executions, err = newStream(ctx, source, trace.TableCallback, times, selections.arrivals, (*messageReader).execution, (*Execution).At); err != nil {
		return err
	}
	times = []string{"rmw_take_timestamp", "dequeue_timestamp"}
	if r.takes, err = newStream(ctx, source, trace.TableTake, times, selections.takes, (*messageReader).take, func(a *arrival) int64 { return a.start }); err != nil {
		return err
	}
	r.enqueues, err = newStream(ctx, source, trace.TableEnqueue, []string{"enqueue_timestamp"}, selections.enqueues, (*messageReader).enqueue, func(e *enqueue) int64 { return e.at })
	for _, reader := range source.readers {
		reader.publications.memory, reader.executions.memory = &r.published, &r.executed
	}
	r.publications.chunks = func(worker int) [][]Publication { return source.readers[worker].publications.chunks }
	r.executions.chunks = func(worker int) [][]Execution { return source.readers[worker].executions.chunks }
	return err
}

// messagesInTime is a window beside what happened to its messages.
type messagesInTime struct {
	publications []*Publication
	executions   []*Execution
	polls        []*arrival
	passed       []Poll
	flows        []Flow
	messages     messageWindow
	// Of the window's events, and of no others.
	published []heldChunks[Publication]
	executed  []heldChunks[Execution]
}

func (r *timelineReading) reading(limit int64) (tasks []readTask, finish func() *messagesInTime) {
	publicationTasks, publications := r.publications.readingTo(limit)
	executionTasks, executions := r.executions.readingTo(limit)
	takeTasks, takes := r.takes.reading(limit)
	enqueueTasks, enqueues := r.enqueues.readingTo(limit)
	return slices.Concat(publicationTasks, executionTasks, takeTasks, enqueueTasks), func() *messagesInTime {
		w := r.emptyWindow()
		w.publications, w.executions, w.polls = publications(w.publications), executions(w.executions), takes()
		w.published, w.executed = r.publications.settled, r.executions.settled
		w.messages.enqueues, w.messages.limit = enqueues(w.messages.enqueues), limit
		for _, p := range w.publications {
			w.messages.departures = append(w.messages.departures, p.departure)
		}
		for _, e := range w.executions {
			if e.arrival.subscription != nil {
				w.messages.arrivals = append(w.messages.arrivals, &e.arrival)
			}
		}
		w.messages.arrivals = mergeByTime(w.messages.arrivals, w.polls, func(a *arrival) int64 { return a.start })
		return w
	}
}

// emptyWindow returns one in memory that is used again.
func (r *timelineReading) emptyWindow() *messagesInTime {
	w := r.spare
	r.spare = nil
	if w == nil {
		w = new(messagesInTime)
	}
	clear(w.publications)
	clear(w.messages.departures)
	clear(w.messages.enqueues)
	w.publications, w.executions, w.passed, w.flows = w.publications[:0], w.executions[:0], w.passed[:0], w.flows[:0]
	w.messages.departures, w.messages.arrivals, w.messages.enqueues = w.messages.departures[:0], w.messages.arrivals[:0], w.messages.enqueues[:0]
	return w
}

// add joins the messages of a window, and passes the window before on.
func (r *timelineReading) add(w *messagesInTime) error {
	for _, p := range w.publications {
		r.numbered++
		p.Number, p.departure.flow = r.numbered, Flow(r.numbered<<flowBits)
	}
	r.passages.add(&w.messages)
	if err := r.pass(); err != nil {
		return err
	}
	r.held = w
	return nil
}

// join notes on which flow a message was received. One that was received before it was published, as a damaged dataset
// may tell, is on none.
func (r *timelineReading) join(p passage) {
	if p.fate != Received || p.arrival.start < p.departure.at || !r.maySetOut(p.departure, p.subscription) {
		return
	}
	i := slices.IndexFunc(r.passages.outletsOf(p.departure), func(o outlet) bool { return o.subscription == p.subscription })
	if i >= 0 && i < 1<<flowBits {
		p.arrival.flow = p.departure.flow + Flow(i)
	}
}

// maySetOut tells whether a subscription may get a message: it may be younger, but not gone.
func (r *timelineReading) maySetOut(d *departure, s *system.Subscription) bool {
	life := r.query.lifeOf(s)
	return !life.End.Valid || life.End.Value >= d.at
}

// pass passes the held window on.
func (r *timelineReading) pass() error {
	if r.held == nil {
		return nil
	}
	w := r.held
	for _, p := range w.publications {
		first := len(w.flows)
		for i, to := range r.passages.outletsOf(p.departure) {
			if i < 1<<flowBits && p.departure.mayBeJoined() && r.maySetOut(p.departure, to.subscription) {
				w.flows = append(w.flows, p.departure.flow+Flow(i))
			}
		}
		p.Flows = w.flows[first:len(w.flows):len(w.flows)]
	}
	for _, e := range w.executions {
		e.Flow = e.arrival.flow
	}
	for _, poll := range w.polls {
		if r.query.filter.covers(poll.start) {
			w.passed = append(w.passed, Poll{Subscription: poll.subscription, TID: poll.tid, At: poll.start, Flow: poll.flow})
		}
	}
	err := r.each(&TimelineWindow{Executions: w.executions, Publications: w.publications, Polls: w.passed})
	// Nothing of the window is looked for any more: what did not find its publish in the window after it never will.
	for _, c := range w.published {
		r.published.giveBack(c.chunks)
	}
	for _, c := range w.executed {
		r.executed.giveBack(c.chunks)
	}
	r.held, r.spare = nil, w
	return err
}

// publication makes a publication of a row: nil if it is not wanted, or no time of it is known.
func (r *messageReader) publication(row *publicationColumns, dataset int) *Publication {
	d := r.departures.next()
	switch {
	case r.setDeparture(d, &row.departureColumns, dataset, row.TopicName, row.NodeName):
		d.written = r.query.clocks[dataset].orNone(row.Written)
	case !r.setUnjoined(d, row, dataset):
		return nil
	}
	if !r.query.filter.covers(d.at) {
		return nil
	}
	p := r.publications.next()
	*p = Publication{Publisher: d.publisher, TID: row.TID, At: d.at, Status: row.Status, Depth: row.Depth, departure: d}
	r.publications.used()
	r.departures.used()
	return p
}

// setUnjoined makes the departure of a message of which it is not known where it goes to, or that only the DDS library
// was seen to write. Nothing is joined with it.
func (r *messageReader) setUnjoined(d *departure, row *publicationColumns, dataset int) bool {
	at := scan.FirstTime(row.Intra, row.Rclcpp, row.Rcl, row.RMW, row.Written)
	if at == 0 {
		return false
	}
	p := r.publishers.Find(&row.ProcessKey, row.PublisherHandle, at)
	if p == nil || p.TopicName == "" {
		p = r.query.unknown.Publisher(row.ProcessKey, row.PublisherHandle, row.TopicName, row.NodeName)
	}
	if !r.wanted.publisher(p) {
		return false
	}
	*d = departure{
		publisher: p, dataset: dataset, at: r.query.clocks[dataset].correct(at), start: noTime,
		intra: noTime, rclcpp: noTime, rcl: noTime, rmw: noTime, written: noTime,
	}
	return true
}

// mayBeJoined tells whether a subscription may be found to have got the message.
func (d *departure) mayBeJoined() bool { return d.source.Valid || d.intra != noTime }

// execution makes an execution of a row: nil if it is not wanted.
func (r *messageReader) execution(row *timelineColumns, dataset int) *Execution {
	clock := &r.query.clocks[dataset]
	at := row.Start
	if !at.Valid {
		at = row.End
	}
	if !at.Valid || !r.query.filter.covers(clock.correct(at.Value)) {
		return nil
	}
	e := r.executions.next()
	if row.Start.Valid {
		if !r.setArrival(&e.arrival, &row.arrivalColumns, dataset, row.TopicName, row.NodeName) {
			return nil
		}
		e.Callback, e.Start = e.arrival.callback, trace.Some(e.arrival.start)
	} else {
		e.Callback, e.Start, e.arrival = r.callback(&row.ProcessKey, row.Callback, row.End.Value), trace.Optional[int64]{}, arrival{}
		if !r.wanted.callback(e.Callback) {
			return nil
		}
	}
	e.End = row.End
	if e.End.Valid {
		e.End.Value = clock.correct(e.End.Value)
	}
	e.TID, e.CPU, e.EndCPU, e.Status, e.Depth, e.Overhead = row.TID, row.CPU, row.EndCPU, row.Status, row.Depth, row.Overhead
	e.Parts, e.Named, e.Flow = row.parts(), nil, 0
	if e.Callback.Node.Name == "" {
		e.Named = &NamedCallback{Kind: row.Kind, NodeName: row.NodeName, TopicName: row.TopicName, Symbol: row.Symbol}
	}
	r.executions.used()
	return e
}

// Losses passes on what is missing in the time that is asked for. Of what belongs to a process it is that of the
// processes that are asked for.
func (q *Query) Losses(ctx context.Context, each func([]trace.Loss) error) error {
	return eachHappening(ctx, q, trace.TableLoss, func(row *trace.Loss, clock *clockCorrection) bool {
		row.FromTimestamp, row.ToTimestamp = clock.correct(row.FromTimestamp), clock.correct(row.ToTimestamp)
		return q.filter.missing(row)
	}, each)
}

// missing tells whether a loss is asked for.
func (f *Filter) missing(row *trace.Loss) bool {
	if row.PID != 0 && !f.process(row.PID) {
		return false
	}
	return (!f.From.Valid || row.ToTimestamp >= f.From.Value) && (!f.To.Valid || row.FromTimestamp <= f.To.Value)
}
