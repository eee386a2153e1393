package analyze

import (
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/trace"
)

// messages are the streams of all that happens to messages.
type messages struct {
	departures stream[departure]
	arrivals   stream[arrival]
	takes      stream[arrival]
	enqueues   stream[enqueue]
	damaged    scan.Damages
}

// messageWindow is what happened to messages in a window of time, each in the order of time.
type messageWindow struct {
	departures []*departure
	arrivals   []*arrival // of callbacks, by their start, and polled ones, by their take
	enqueues   []*enqueue
	// limit is the end of the window: later windows hold nothing before it.
	limit int64
}

// eachMessageWindow passes all wanted messages on, window after window.
func (q *Query) eachMessageWindow(ctx context.Context, wanted *wantedMessages, each func(*messageWindow) error) error {
	var m messages
	source := newEventSource(q, wanted, &m.damaged)
	// What is published in the time that is asked for arrives in it or later.
	source.prune = func(_, end int64) bool { return q.filter.From.Valid && end < q.filter.From.Value && !wanted.whenever }
	if err := m.open(ctx, source, wanted); err != nil {
		return err
	}
	source.progress = q.newProgress(m.departures.groups, m.arrivals.groups, m.takes.groups, m.enqueues.groups)
	limits := q.windowLimits(m.departures.groups, m.arrivals.groups, m.takes.groups, m.enqueues.groups)
	if err := readAhead(ctx, limits, m.reading, each); err != nil {
		return err
	}
	return q.warnOfDamage(m.damaged.Err())
}

// open prepares the streams.
func (m *messages) open(ctx context.Context, source *eventSource, wanted *wantedMessages) (err error) {
	published, started, put := func(d *departure) int64 { return d.at }, func(a *arrival) int64 { return a.start }, func(e *enqueue) int64 { return e.at }
	starts, takes, enqueues := []string{"callback_start_timestamp"}, []string{"rmw_take_timestamp", "dequeue_timestamp"}, []string{"enqueue_timestamp"}
	selections := wanted.selections(source.query.Architecture.Index())
	if wanted.known {
		m.departures, err = newStream(ctx, source, trace.TablePublish, scan.PublishTimes, selections.departures, (*messageReader).departure, published)
	} else {
		m.departures, err = newStream(ctx, source, trace.TablePublish, scan.PublishTimes, selections.departures, (*messageReader).detailedDeparture, published)
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
