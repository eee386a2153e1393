package summary

import (
	"cmp"
	"context"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// scanTable reads a table's row groups on all cores; add gets the state of its goroutine.
func scanTable[T any](ctx context.Context, s *summarizer, table string, add func(w *worker, rows []T)) error {
	groups := s.groups[table]
	return scan.InParallel(ctx, len(groups), func(ctx context.Context, worker, i int) error {
		return s.damages.Add(trace.ScanGroup(ctx, table, groups[i], nil, func(rows []T) error {
			add(s.workers[worker], rows)
			s.read(len(rows))
			return s.unknown.Err()
		}))
	})
}

// worker is what one goroutine counted. Its memory grows with the entities, not with the rows; what rows name beside
// these is limited.
type worker struct {
	index   *system.Index
	within  trace.Optional[trace.Span] // as in Summary
	unknown *system.UnknownLimit

	numbers   system.ProcessNumbers
	processes []*processCount // by their numbers
	// unnamed are publishes without a publisher's handle, by topic.
	unnamed map[unnamedPublisher]*publishCount
	takes   map[unnamedPublisher]*takeCount
	status  map[Status]uint64 // keys have Count 0
}

// processCount is a Process in the making.
type processCount struct {
	key                                   trace.ProcessKey
	number                                int32 // its index
	executions, publishes, takes, enqueue uint64
	callbacks                             map[trace.Address]*lifeCounts[*system.Callback, callbackCount]
	publishers                            map[trace.Address]*lifeCounts[*system.Publisher, publishCount]
}

// unnamedPublisher is what rows say of a publisher or subscription by name.
type unnamedPublisher struct {
	process         int32
	topic, nodeName string
}

// lifeCounts are the counts of the entities that had one address. Nearly every address has one.
type lifeCounts[E any, C any] struct {
	lives  *system.Residents[E]
	counts []C
	// unknown counts what lies in none of the lives.
	unknown C
}

func newLifeCounts[E any, C any](lives *system.Residents[E]) *lifeCounts[E, C] {
	return &lifeCounts[E, C]{lives: lives, counts: make([]C, lives.Len())}
}

// at returns the count of the entity that lived at that time.
func (l *lifeCounts[E, C]) at(time int64) *C {
	if i := l.lives.At(time); i >= 0 {
		return &l.counts[i]
	}
	return &l.unknown
}

type callbackCount struct {
	count, timed uint64
	total, max   int64
	started      uint64
	span         trace.Span // of starts
}

type publishCount struct {
	count, timed uint64
	span         trace.Span // of those with a time
}

// takeCount counts takes by what became of them.
type takeCount struct{ polled, ignored, unattributed uint64 }

func newWorker(index *system.Index, within trace.Optional[trace.Span], unknown *system.UnknownLimit) *worker {
	return &worker{
		index:   index,
		within:  within,
		unknown: unknown,
		unnamed: make(map[unnamedPublisher]*publishCount),
		takes:   make(map[unnamedPublisher]*takeCount),
		status:  make(map[Status]uint64),
	}
}

// process returns the counts of a row's process.
func (w *worker) process(key *trace.ProcessKey) *processCount {
	number := w.numbers.Number(key)
	if int(number) == len(w.processes) {
		w.unknown.Keep(0)
		w.processes = append(w.processes, &processCount{
			key: *key, number: number, callbacks: make(map[trace.Address]*lifeCounts[*system.Callback, callbackCount]),
			publishers: make(map[trace.Address]*lifeCounts[*system.Publisher, publishCount]),
		})
	}
	return w.processes[number]
}

// lifeCountsAt returns the counts of an address, whose lives are asked for if there are none yet.
func lifeCountsAt[E any, C any](w *worker, counts map[trace.Address]*lifeCounts[E, C], lives system.LivesAt[E], process *trace.ProcessKey, address trace.Address) *lifeCounts[E, C] {
	of := counts[address]
	if of == nil {
		at := lives[system.Place{Process: *process, Address: address}]
		if at.Len() == 0 {
			w.unknown.Keep(0)
		}
		of = newLifeCounts[E, C](at)
		counts[address] = of
	}
	return of
}

// addStatus counts a row that is not complete.
func (w *worker) addStatus(table, status string) {
	of := Status{Table: table, Status: status}
	if w.status[of] == 0 {
		w.unknown.Keep(len(status))
	}
	w.status[of]++
}

// executionCounts are the columns of callback that a Summary needs.
type executionCounts struct {
	trace.ProcessKey
	Callback trace.Address         `column:"callback"`
	Start    trace.Optional[int64] `column:"callback_start_timestamp"`
	End      trace.Optional[int64] `column:"callback_end_timestamp"`
	Status   trace.CallbackStatus  `column:"status"`
}

func (w *worker) addCallbacks(rows []executionCounts) {
	for i := range rows {
		row := &rows[i]
		at := row.Start.Value
		if !row.Start.Valid {
			at = row.End.Value
		}
		if !isWithin(&w.within, at) {
			continue
		}
		p := w.process(&row.ProcessKey)
		p.executions++
		c := lifeCountsAt(w, p.callbacks, w.index.Callbacks, &row.ProcessKey, row.Callback).at(at)
		c.count++
		if row.Start.Valid {
			widen(&c.span, &c.started, row.Start.Value)
			if row.End.Valid {
				duration := row.End.Value - row.Start.Value
				c.timed++
				c.total += duration
				c.max = max(c.max, duration)
			}
		}
		if row.Status != trace.CallbackComplete {
			w.addStatus(trace.TableCallback, string(row.Status))
		}
	}
}

// widen makes the span contain the time, which is the count-th.
func widen(span *trace.Span, count *uint64, at int64) {
	if *count == 0 {
		*span = trace.Span{First: at, Last: at}
	}
	*count++
	span.First, span.Last = min(span.First, at), max(span.Last, at)
}

// widenBy makes the span of some times contain that of others.
func widenBy(span *trace.Span, count *uint64, by trace.Span, times uint64) {
	switch {
	case times == 0:
	case *count == 0:
		*span = by
	default:
		span.First, span.Last = min(span.First, by.First), max(span.Last, by.Last)
	}
	*count += times
}

// publishCounts are the columns of publish that a Summary needs.
type publishCounts struct {
	trace.ProcessKey
	PublisherHandle trace.Address         `column:"publisher_handle,null"`
	Intra           trace.Optional[int64] `column:"rclcpp_intra_publish_timestamp"`
	Rclcpp          trace.Optional[int64] `column:"rclcpp_publish_timestamp"`
	Rcl             trace.Optional[int64] `column:"rcl_publish_timestamp"`
	RMW             trace.Optional[int64] `column:"rmw_publish_timestamp"`
	Status          trace.PublishStatus   `column:"status"`
	TopicName       string                `column:"topic_name,null"`
	NodeName        string                `column:"node_name,null"`
}

// at returns the time of the first layer that has one.
func (r *publishCounts) at() (time int64, ok bool) {
	for _, t := range [...]*trace.Optional[int64]{&r.Intra, &r.Rclcpp, &r.Rcl, &r.RMW} {
		if t.Valid {
			return t.Value, true
		}
	}
	return 0, false
}

func (w *worker) addPublishes(rows []publishCounts) {
	for i := range rows {
		row := &rows[i]
		at, timed := row.at()
		if !isWithin(&w.within, at) {
			continue
		}
		p := w.process(&row.ProcessKey)
		p.publishes++
		c := w.publishCount(p, row, at)
		c.count++
		if timed {
			widen(&c.span, &c.timed, at)
		}
		if row.Status != trace.PublishComplete {
			w.addStatus(trace.TablePublish, string(row.Status))
		}
	}
}

func (w *worker) publishCount(p *processCount, row *publishCounts, at int64) *publishCount {
	if row.PublisherHandle != 0 {
		lives := lifeCountsAt(w, p.publishers, w.index.Publishers, &row.ProcessKey, row.PublisherHandle)
		if c := lives.at(at); c != &lives.unknown {
			return c
		}
	}
	key := unnamedPublisher{p.number, row.TopicName, row.NodeName}
	c := w.unnamed[key]
	if c == nil {
		w.unknown.Keep(len(row.TopicName) + len(row.NodeName))
		c = new(publishCount)
		w.unnamed[key] = c
	}
	return c
}

// subscription is that of a take whose row does not name the topic: it was not known yet when the message was taken.
// Nil where it was never known.
func (w *worker) subscription(row *takeCounts) *system.Subscription {
	if row.TopicName != "" {
		return nil
	}
	at := scan.FirstTime(row.Dequeue, row.Take)
	if s := w.index.Subscriptions.Find(row.ProcessKey, row.SubscriptionHandle, at); s != nil {
		return s
	}
	return w.index.Buffers.Find(row.ProcessKey, row.Buffer, at)
}

// takeCounts are the columns of take that a Summary needs.
type takeCounts struct {
	trace.ProcessKey
	Kind               trace.TakeKind        `column:"kind"`
	Take               trace.Optional[int64] `column:"rmw_take_timestamp"`
	Dequeue            trace.Optional[int64] `column:"dequeue_timestamp"`
	SubscriptionHandle trace.Address         `column:"subscription_handle,null"`
	Buffer             trace.Address         `column:"buffer,null"`
	TopicName          string                `column:"topic_name,null"`
	NodeName           string                `column:"node_name,null"`
}

func (w *worker) addTakes(rows []takeCounts) {
	for i := range rows {
		if row := &rows[i]; isWithin(&w.within, scan.FirstTime(row.Take, row.Dequeue)) {
			w.addTake(row)
		}
	}
}

func (w *worker) addTake(row *takeCounts) {
	p := w.process(&row.ProcessKey)
	p.takes++
	key := unnamedPublisher{p.number, row.TopicName, row.NodeName}
	if s := w.subscription(row); s != nil {
		key.topic, key.nodeName = s.TopicName, cmp.Or(row.NodeName, s.Node.Name)
	}
	c := w.takes[key]
	if c == nil {
		w.unknown.Keep(len(key.topic) + len(key.nodeName))
		c = new(takeCount)
		w.takes[key] = c
	}
	switch row.Kind {
	case trace.TakeIgnored:
		c.ignored++
	case trace.TakeUnattributed:
		c.unattributed++
	default:
		c.polled++
	}
}

// timedEnqueues are the columns of enqueue that tell whose it was and when.
type timedEnqueues struct {
	trace.ProcessKey
	At int64 `column:"enqueue_timestamp"`
}

func (w *worker) addEnqueues(rows []trace.ProcessKey) {
	for i := range rows {
		w.process(&rows[i]).enqueue++
	}
}

func (w *worker) addTimedEnqueues(rows []timedEnqueues) {
	for i := range rows {
		if isWithin(&w.within, rows[i].At) {
			w.process(&rows[i].ProcessKey).enqueue++
		}
	}
}
