package graph

import "github.com/caret-bpf/caret-bpf/trace"

// The entities. Each holds the row that describes it; lookups hand out pointers to those rows.

type node struct {
	life
	report[trace.Node]
}

type publisher struct {
	life
	report[trace.Publisher]
}

// subscription is an rcl subscription. Its row stands for the pair with an rclcpp object only until one is known.
type subscription struct {
	life
	report[trace.Subscription]
	objects []*object
}

// object is an rclcpp object that serves a subscription and holds its callback.
type object struct {
	life
	report[trace.Subscription]
	subscription *subscription // nil while unknown
	callback     *callback     // nil while unknown
}

type timer struct {
	life
	report[trace.Timer]
	callback *callback // nil while unknown
}

// service has no table of its own: its callback's row says what is known.
type service struct {
	life
	handle, nodeHandle trace.Address
	name, nodeName     string
	callback           *callback // nil while unknown
}

type callback struct {
	life
	report[trace.CallbackInfo]
}

func (n *node) complete() bool { return n.current.NodeName != "" }

func (n *node) fullName() string { return fullName(n.current.Namespace, n.current.NodeName) }

func (p *publisher) complete() bool { return p.current.TopicName != "" && p.current.NodeName != "" }

// complete is never true: a subscription without an object may get one.
func (s *subscription) complete() bool { return false }

func (o *object) complete() bool {
	row := &o.current
	return row.SubscriptionHandle != 0 && row.TopicName != "" && row.NodeName != "" && row.Callback != 0
}

func (t *timer) complete() bool {
	return t.current.Period.Valid && t.current.NodeName != "" && t.current.Callback != 0
}

func (c *callback) complete() bool {
	row := &c.current
	return row.Kind != "" && row.OwnerHandle != 0 && row.NodeName != "" && row.Symbol != ""
}

// inherit fills what the object's rows say of its subscription.
func (o *object) inherit() {
	if s := o.subscription; s != nil {
		row := &o.current
		row.SubscriptionHandle = s.current.SubscriptionHandle
		row.NodeHandle = s.current.NodeHandle
		row.RMWSubscriptionHandle = s.current.RMWSubscriptionHandle
		row.TopicName = s.current.TopicName
		row.QueueDepth = s.current.QueueDepth
		row.NodeName = s.current.NodeName
		row.InitTimestamp = s.current.InitTimestamp
		row.Provenance = s.current.Provenance
	}
	c := o.callback
	if c == nil {
		return
	}
	o.current.Callback = c.current.Callback
	c.current.Kind = ""
	switch intra := o.current.IsIntraProcess; {
	case intra.Valid && intra.Value:
		c.current.Kind = trace.KindIntraProcessSubscription
	case intra.Valid:
		c.current.Kind = trace.KindSubscription
	}
	c.current.OwnerHandle = o.current.SubscriptionHandle
	c.current.TopicName = o.current.TopicName
	c.current.NodeName = o.current.NodeName
}

// inherit fills what the callback's row says of its timer.
func (t *timer) inherit() {
	c := t.callback
	if c == nil {
		return
	}
	t.current.Callback = c.current.Callback
	c.current.Kind = trace.KindTimer
	c.current.OwnerHandle = t.current.TimerHandle
	c.current.NodeName = t.current.NodeName
	c.current.Period = t.current.Period
}

// inherit fills what the callback's row says of its service.
func (s *service) inherit() {
	c := s.callback
	if c == nil {
		return
	}
	c.current.Kind = trace.KindService
	c.current.OwnerHandle = s.handle
	c.current.TopicName = s.name
	c.current.NodeName = s.nodeName
}
