package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Subject is what repeats.
type Subject string

// The subjects.
const (
	// Callbacks: the starts of each callback.
	Callbacks Subject = "callback"
	// Topics: the publishes of each publisher.
	Topics Subject = "topic"
	// Subscriptions: the messages that each subscription received, by the starts of their callbacks or, where they are
	// polled, by the takes.
	Subscriptions Subject = "subscription"
	// Communications: the publishes of each publisher that each subscription received.
	Communications Subject = "communication"
)

// PeriodicLabel names what an answer is about. What the subject does not have is empty: a publisher has no callback and
// no kind.
type PeriodicLabel struct {
	Node     string             `report:"node_name"`
	PID      int32              `report:"pid,identifier,detail"`
	Callback string             `report:"callback_name,drop=9"`
	Kind     trace.CallbackKind `report:"kind,drop=5"`
	Topic    string             `report:"topic_name"`
	// SubscriptionNode and Transport are where and how the messages of a communication are received; Node publishes them.
	SubscriptionNode string    `report:"subscription_node_name,detail"`
	Transport        Transport `report:"transport,detail"`
	// TimerPeriod is the period that a timer was given.
	TimerPeriod trace.Optional[int64] `report:"timer_period,duration,drop=10"`
}

// occurrence is one start of a callback, one publish or one reception of a message.
type occurrence struct {
	source
	at int64
}

// source is what an occurrence is of. A communication has a publisher and a subscription.
type source struct {
	callback     *system.Callback
	publisher    *system.Publisher
	subscription *system.Subscription
	transport    Transport
}

func (s source) label() PeriodicLabel {
	switch c, p, sub := s.callback, s.publisher, s.subscription; {
	case p != nil && sub != nil:
		return PeriodicLabel{Node: p.Node.Name, PID: p.Node.Process.PID, Topic: p.TopicName, SubscriptionNode: sub.Node.Name, Transport: s.transport}
	case sub != nil:
		return PeriodicLabel{Node: sub.Node.Name, PID: sub.Node.Process.PID, Topic: sub.TopicName}
	case p != nil:
		return PeriodicLabel{Node: p.Node.Name, PID: p.Node.Process.PID, Topic: p.TopicName}
	default:
		return PeriodicLabel{Node: c.Node.Name, PID: c.Node.Process.PID, Callback: c.Name, Kind: c.Kind, Topic: cmp.Or(c.TopicName, c.ServiceName), TimerPeriod: c.Period}
	}
}

func comparePeriodicLabels(a, b PeriodicLabel) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID), len(a.Callback)-len(b.Callback), cmp.Compare(a.Callback, b.Callback), cmp.Compare(a.Topic, b.Topic),
		cmp.Compare(a.SubscriptionNode, b.SubscriptionNode), cmp.Compare(a.Transport, b.Transport))
}

// startColumns are the columns of callback that tell when callbacks started.
type startColumns struct {
	trace.ProcessKey
	Callback trace.Address         `column:"callback"`
	Start    trace.Optional[int64] `column:"callback_start_timestamp"`
}

// eachOccurrence passes on when the subject occurred, in the order of time, in simulated time if sim is not nil.
func (q *Query) eachOccurrence(ctx context.Context, subject Subject, sim *simClock, each func(o *occurrence), after func() error) error {
	pass := func(o *occurrence) {
		if !q.filter.covers(o.at) {
			return
		}
		if sim != nil {
			o.at = sim.convert(o.at)
		}
		each(o)
	}
	switch subject {
	case Subscriptions:
		return q.eachReception(ctx, pass, after)
	case Communications:
		return q.eachCommunication(ctx, pass, after)
	default:
		return q.eachBegin(ctx, subject, pass, after)
	}
}

// eachBegin passes on the publishes, or the starts of callbacks.
func (q *Query) eachBegin(ctx context.Context, subject Subject, each func(o *occurrence), after func() error) error {
	wanted := &wantedMessages{publisher: remember(func(p *system.Publisher) bool {
		return matches(q.filter.Topics, p.TopicName) && q.filter.node(p.Node)
	})}
	selected := remember(q.filter.callback)
	at := func(o *occurrence) int64 { return o.at }
	var damaged scan.Damages
	from := newEventSource(q, wanted, &damaged)
	from.prune = q.outside
	var occurrences stream[occurrence]
	var err error
	if subject == Topics {
		occurrences, err = newStream(ctx, from, trace.TablePublish, scan.PublishTimes, nil, func(r *messageReader, row *detailedDepartureColumns, dataset int) *occurrence {
			d := r.detailedDeparture(row, dataset)
			if d == nil {
				return nil
			}
			return &occurrence{source: source{publisher: d.publisher}, at: d.at}
		}, at)
	} else {
		occurrences, err = newStream(ctx, from, trace.TableCallback, []string{"callback_start_timestamp"}, q.selectedCallbacks(), func(r *messageReader, row *startColumns, dataset int) *occurrence {
			if !row.Start.Valid {
				return nil
			}
			c := r.callback(&row.ProcessKey, row.Callback, row.Start.Value)
			if !selected(c) {
				return nil
			}
			return &occurrence{source: source{callback: c}, at: q.clocks[dataset].correct(row.Start.Value)}
		}, at)
	}
	if err != nil {
		return err
	}
	from.progress = q.newProgress(occurrences.groups)
	err = readAhead(ctx, q.windowLimits(occurrences.groups), occurrences.reading, func(window []*occurrence) error {
		for _, o := range window {
			each(o)
		}
		return after()
	})
	if err != nil {
		return err
	}
	return q.warnOfDamage(damaged.Err())
}

// eachReception passes on the messages that subscriptions received.
func (q *Query) eachReception(ctx context.Context, each func(o *occurrence), after func() error) error {
	if err := q.loadPolls(ctx); err != nil {
		return err
	}
	selected := remember(func(s *system.Subscription) bool {
		return matches(q.filter.Topics, s.TopicName) && q.filter.node(s.Node) && q.filter.subscription(s)
	})
	wanted := &wantedMessages{publisher: func(*system.Publisher) bool { return false }, subscription: selected}
	return q.eachMessageWindow(ctx, wanted, func(w *messageWindow) error {
		for _, a := range w.arrivals {
			if a.subscription != nil && selected(a.subscription) {
				each(&occurrence{source: source{subscription: a.subscription}, at: a.start})
			}
		}
		return after()
	})
}

// eachCommunication passes on the publishes that subscriptions received. What is received later may have been published
// earlier, so all are kept until the end: 16 bytes for each.
func (q *Query) eachCommunication(ctx context.Context, each func(o *occurrence), after func() error) error {
	if err := q.loadPolls(ctx); err != nil {
		return err
	}
	type publish struct {
		at int64
		of int32 // index of sources
	}
	var sources []source
	var publishes []publish
	indexes := make(map[routeBy]int32)
	err := q.scanPassages(ctx, func(p passage) {
		if p.fate != Received {
			return
		}
		by := p.by()
		index, known := indexes[by]
		if !known {
			index = int32(len(sources))
			indexes[by] = index
			sources = append(sources, source{publisher: by.publisher, subscription: by.subscription, transport: by.transport})
		}
		publishes = append(publishes, publish{p.departure.at, index})
	}, func() error { return nil })
	if err != nil {
		return err
	}
	slices.SortFunc(publishes, func(a, b publish) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.of, b.of)) })
	for _, p := range publishes {
		each(&occurrence{source: sources[p.of], at: p.at})
	}
	return after()
}

// loadPolls finds out which callbacks poll what, if the filter asks for callbacks.
func (q *Query) loadPolls(ctx context.Context) error {
	if len(q.filter.Callbacks) == 0 {
		return nil
	}
	return q.LoadActivity(ctx)
}
