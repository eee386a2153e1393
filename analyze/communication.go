package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Transport says which way a message takes to a subscription.
type Transport string

// The transports.
const (
	// InterProcess is the middleware, also within a process.
	InterProcess Transport = "inter_process"
	// IntraProcess is rclcpp's buffers.
	IntraProcess Transport = "intra_process"
)

// CommunicationLabel names a pair of a publisher and a subscription in results.
type CommunicationLabel struct {
	Topic            string    `report:"topic_name"`
	PublisherNode    string    `report:"publisher_node_name,drop=9"`
	PublisherPID     int32     `report:"publisher_pid,detail"`
	SubscriptionNode string    `report:"subscription_node_name"`
	SubscriptionPID  int32     `report:"subscription_pid,detail"`
	Transport        Transport `report:"transport,drop=4"`
}

func labelOfRoute(p *system.Publisher, s *system.Subscription, t Transport) CommunicationLabel {
	return CommunicationLabel{
		Topic: p.TopicName, PublisherNode: p.Node.Name, PublisherPID: p.Node.Process.PID,
		SubscriptionNode: s.Node.Name, SubscriptionPID: s.Node.Process.PID, Transport: t,
	}
}

// CommunicationLatency is the time from the publishes of one publisher to the callbacks of one subscription, or to the
// takes where it is polled.
type CommunicationLatency struct {
	CommunicationLabel
	Statistics
	// Lost, Open and Unknown count the messages of that fate.
	Lost    uint64 `report:"lost"`
	Open    uint64 `report:"open,drop=5"`
	Unknown uint64 `report:"unknown,drop=5"`
	// JoinedByTopic counts those of Count that were joined by topic and source timestamp alone.
	JoinedByTopic uint64 `report:"joined_by_topic,detail"`
	// ClockAgreement is the worst of the durations'.
	ClockAgreement

	// OfEveryNode says that one of its ends is a publisher or a subscription that every node has (system.Standard). It is
	// no column.
	OfEveryNode bool
}

// CommunicationInstance is the way of one message to one subscription. Times that were not passed or seen are null.
type CommunicationInstance struct {
	CommunicationLabel
	Fate                   Fate                  `report:"fate,drop=7"`
	JoinedBy               JoinedBy              `report:"joined_by,drop=2"`
	RclcppIntraPublish     trace.Optional[int64] `report:"rclcpp_intra_publish_timestamp,time,detail"`
	RclcppPublish          trace.Optional[int64] `report:"rclcpp_publish_timestamp,time,drop=6"`
	RclPublish             trace.Optional[int64] `report:"rcl_publish_timestamp,time,detail"`
	RMWPublish             trace.Optional[int64] `report:"rmw_publish_timestamp,time,detail"`
	DDSBindAddrToStamp     trace.Optional[int64] `report:"dds_bind_addr_to_stamp_timestamp,time,detail"`
	SourceTimestamp        trace.Optional[int64] `report:"source_timestamp,time,detail"`
	RclcppRingBufferQueue  trace.Optional[int64] `report:"rclcpp_ring_buffer_enqueue_timestamp,time,detail"`
	Take                   trace.Optional[int64] `report:"take_timestamp,time,drop=3"`
	CallbackStartTimestamp trace.Optional[int64] `report:"callback_start_timestamp,time"`
	Latency                trace.Optional[int64] `report:"latency,duration"`
	ClockAgreement
}

// Published returns when the message was published, which its latency counts from, in Unix nanoseconds.
func (i *CommunicationInstance) Published() int64 {
	if at := firstOf(orNoTime(i.RclcppIntraPublish), orNoTime(i.RclcppPublish)); at != noTime {
		return at
	}
	return firstOf(orNoTime(i.RclPublish), orNoTime(i.RMWPublish))
}

// CommunicationLatency answers how long messages took, and which were lost. each, if not nil, gets every message once
// for each subscription, in the order of their publishes.
func (q *Query) CommunicationLatency(ctx context.Context, each func([]CommunicationInstance) error) ([]CommunicationLatency, error) {
	if err := q.loadPolls(ctx); err != nil {
		return nil, err
	}
	c := &communications{query: q, pairs: make(map[routeBy]*communicationPair), instances: newSeries(each, (*CommunicationInstance).Published)}
	if err := q.scanPassages(ctx, c.add, c.instances.flush); err != nil {
		return nil, err
	}
	return c.results(), c.instances.end(q)
}

// scanPassages passes the ways of all messages to the subscriptions that are asked for on. flush is called after each
// window of messages, and at the end.
func (q *Query) scanPassages(ctx context.Context, add func(passage), flush func() error) error {
	passages := newPassages(q, q.filter.communication, add)
	err := q.eachMessageWindow(ctx, q.wantedPassages(), func(w *messageWindow) error {
		passages.add(w)
		return flush()
	})
	if err != nil {
		return err
	}
	passages.end()
	return flush()
}

// wantedPassages are the messages of the topics that are asked for.
func (q *Query) wantedPassages() *wantedMessages {
	wanted := &wantedMessages{publisher: every[*system.Publisher], subscription: every[*system.Subscription]}
	if len(q.filter.Topics) > 0 {
		wanted.topic = func(name string) bool { return matches(q.filter.Topics, name) }
		wanted.publisher = remember(func(p *system.Publisher) bool { return wanted.topic(p.TopicName) })
		wanted.subscription = remember(func(s *system.Subscription) bool { return wanted.topic(s.TopicName) })
	}
	return wanted
}

func every[E any](E) bool { return true }

// communications gathers passages.
type communications struct {
	query     *Query
	pairs     map[routeBy]*communicationPair
	instances series[CommunicationInstance]
}

type routeBy struct {
	route
	transport Transport
}

// by tells which way the message took.
func (of *passage) by() routeBy {
	by := routeBy{route{of.departure.publisher, of.subscription}, InterProcess}
	if of.enqueued != noTime {
		by.transport = IntraProcess
	}
	return by
}

type communicationPair struct {
	distribution
	fates         map[Fate]uint64
	joinedByTopic uint64
	agreement     clockAgreement
}

func (c *communications) add(p passage) {
	if !c.query.filter.covers(p.departure.at) {
		return
	}
	by := p.by()
	pair := c.pairs[by]
	if pair == nil {
		pair = &communicationPair{fates: make(map[Fate]uint64)}
		c.pairs[by] = pair
	}
	pair.fates[p.fate]++
	pair.begin(p.departure.at)
	latency := p.latency()
	var agreement ClockAgreement
	if latency.Valid {
		pair.addDuration(latency.Value)
		agreement = c.query.agreement(p.departure.dataset, p.departure.at, p.arrival.dataset, p.arrival.start)
		pair.agreement.add(agreement)
		c.query.warnOfContradiction(p.departure.dataset, p.arrival.dataset, latency.Value, agreement)
	}
	if p.joinedBy == JoinedByTopic {
		pair.joinedByTopic++
	}
	if c.instances.wanted() {
		i := instanceOf(&p, by, latency)
		i.ClockAgreement = agreement
		c.instances.add(i)
	}
}

func instanceOf(p *passage, by routeBy, latency trace.Optional[int64]) CommunicationInstance {
	d := p.departure
	i := CommunicationInstance{
		CommunicationLabel: labelOfRoute(by.publisher, by.subscription, by.transport), Fate: p.fate, JoinedBy: p.joinedBy,
		RclcppIntraPublish: optionalTime(d.intra), RclcppPublish: optionalTime(d.rclcpp), RclPublish: optionalTime(d.rcl), RMWPublish: optionalTime(d.rmw),
		DDSBindAddrToStamp: optionalTime(d.written), SourceTimestamp: d.source, RclcppRingBufferQueue: optionalTime(p.enqueued), Latency: latency,
	}
	if p.arrival == nil {
		i.JoinedBy = ""
		return i
	}
	i.Take = optionalTime(p.arrival.take)
	if !p.arrival.polled {
		i.CallbackStartTimestamp = trace.Some(p.arrival.start)
	}
	return i
}

func (c *communications) results() []CommunicationLatency {
	var results []CommunicationLatency
	standard := c.query.Architecture.Standard()
	for by, pair := range c.pairs {
		results = append(results, CommunicationLatency{
			CommunicationLabel: labelOfRoute(by.publisher, by.subscription, by.transport), Statistics: pair.statistics(),
			Lost: pair.fates[Lost], Open: pair.fates[Open], Unknown: pair.fates[Unknown], JoinedByTopic: pair.joinedByTopic,
			ClockAgreement: pair.agreement.worst, OfEveryNode: standard.Communication(by.publisher, by.subscription),
		})
	}
	slices.SortFunc(results, func(a, b CommunicationLatency) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.PublisherNode, b.PublisherNode), cmp.Compare(a.PublisherPID, b.PublisherPID),
			cmp.Compare(a.SubscriptionNode, b.SubscriptionNode), cmp.Compare(a.SubscriptionPID, b.SubscriptionPID), cmp.Compare(a.Transport, b.Transport),
			cmp.Compare(a.Lost, b.Lost), cmp.Compare(a.Count, b.Count))
	})
	return results
}
