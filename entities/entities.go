package entities

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// The entities. Each holds the row that describes it; lookups hand out pointers to those rows.

type node struct {
	life
	report[trace.Node]
}

type publisher struct {
	life
	report[trace.Publisher]
	typed bool // knowType has noted its type
	// announced is the handle with which a publisher was initialized that its library then copied elsewhere; null for all
	// others.
	announced trace.Address
	// intraProcess says that it has published with intra-process communication.
	intraProcess bool
	// instance is its instance handle with Cyclone DDS, in hexadecimal, "" if it has none or none was read. It is not
	// looked for again where it cannot be.
	instance   string
	noInstance bool
}

// subscription is an rcl subscription. Its row stands for the pair with an rclcpp object only until one is known.
type subscription struct {
	life
	report[trace.Subscription]
	objects []*object
	typed   bool // knowType has noted its type
	scanned bool // a scan has found it, and with it its object if there is one
}

// object is an rclcpp object that serves a subscription and holds its callback.
type object struct {
	life
	report[trace.Subscription]
	subscription *subscription // nil while unknown
	callback     *callback     // nil while unknown
	announced    bool          // rclcpp_subscription_init has told whose it is
	buffer       intraProcess  // what its initialization said of its ring buffer, if it has one
}

type timer struct {
	life
	report[trace.Timer]
	callback *callback // nil while unknown
}

type service struct {
	life
	report[trace.ServiceServer]
	impl     trace.Address // rcl's own part, which copies of the handle share; 0 if unknown
	callback *callback     // nil while unknown
}

type client struct {
	life
	report[trace.Client]
}

type callback struct {
	life
	report[trace.CallbackInfo]
	// timers are those whose callback it is: several if they refer to one variable.
	timers []*timer
	object *object // of a subscription; nil for others, and while unknown
}

type group struct {
	life
	report[trace.CallbackGroup]
	// collector is what collects the group's entities for its executor, 0 if the executor does.
	collector trace.Address
	// joined is when the group was last seen to be added to an executor; always if memory showed it.
	joined int64
}

type executor struct {
	life
	report[trace.Executor]
}

type rclContext struct {
	life
	report[trace.Context]
}

type stateMachine struct {
	life
	report[trace.LifecycleStateMachine]
}

// buffer is a ring buffer of intra-process communication, as its construction announces it.
type buffer struct {
	life
	address  trace.Address
	capacity uint64
}

// intraProcessBuffer is what holds a ring buffer for a subscription's intra-process object.
type intraProcessBuffer struct {
	life
	buffer *buffer
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

// serve links a subscription with an object. The rows of the first one continue those of the subscription itself.
func (s *subscription) serve(o *object) {
	o.subscription = s
	if o.entity == 0 {
		o.entity, s.entity = s.entity, 0
	}
	s.objects = append(s.objects, o)
}

// announcedObjects are the objects that rclcpp_subscription_init has told of, in that order.
func (s *subscription) announcedObjects() []*object {
	return slices.DeleteFunc(slices.Clone(s.objects), func(o *object) bool { return !o.announced || o.withdrawn })
}

func (t *timer) complete() bool {
	return t.current.Period.Valid && t.current.NodeName != "" && t.current.Callback != 0
}

func (s *service) complete() bool {
	return s.current.ServiceName != "" && s.current.NodeName != "" && s.current.Callback != 0
}

func (c *client) complete() bool { return c.current.ServiceName != "" && c.current.NodeName != "" }

func (c *callback) complete() bool {
	row := &c.current
	return row.Kind != "" && row.OwnerHandle != 0 && row.NodeName != "" && row.Symbol != ""
}

func (g *group) complete() bool {
	return g.current.GroupTypeName != "" && g.current.NodeName != "" && g.current.Executor != 0
}

func (e *executor) complete() bool {
	return e.current.ExecutorType != "" && (e.current.ExecutorType != multiThreadedExecutor || e.current.ThreadCount.Valid)
}

func (c *rclContext) complete() bool { return true }

func (m *stateMachine) complete() bool { return m.current.NodeName != "" }

// inherit fills what the object's rows say of its subscription, and the callback's of both.
func (o *object) inherit() {
	row := &o.current
	if s := o.subscription; s != nil {
		row.SubscriptionHandle = s.current.SubscriptionHandle
		row.NodeHandle = s.current.NodeHandle
		row.RMWSubscriptionHandle = s.current.RMWSubscriptionHandle
		row.TopicName = s.current.TopicName
		row.QueueDepth = s.current.QueueDepth
		row.NodeName = s.current.NodeName
		row.InitTimestamp = s.current.InitTimestamp
		row.Provenance = s.current.Provenance
		row.CallbackGroup = s.current.CallbackGroup
		fill(&row.MessageType, s.current.MessageType)
	}
	c := o.callback
	if c == nil {
		return
	}
	c.object = o
	row.Callback = c.current.Callback
	c.current.Kind = ""
	switch intra := row.IsIntraProcess; {
	case intra.Valid && intra.Value:
		c.current.Kind = trace.KindIntraProcessSubscription
	case intra.Valid:
		c.current.Kind = trace.KindSubscription
	}
	c.current.OwnerHandle = row.SubscriptionHandle
	c.current.TopicName = row.TopicName
	c.current.NodeName = row.NodeName
	c.current.CallbackGroup = row.CallbackGroup
}

// inherit fills what the callback's row says of its timer.
func (t *timer) inherit() {
	c := t.callback
	if c == nil {
		return
	}
	t.current.Callback = c.current.Callback
	c.inheritTimers()
}

// inherit fills what the callback's row says of its service.
func (s *service) inherit() {
	c := s.callback
	if c == nil {
		return
	}
	s.current.Callback = c.current.Callback
	c.current.Kind = trace.KindService
	c.current.OwnerHandle = s.current.ServiceHandle
	c.current.TopicName = s.current.ServiceName
	c.current.NodeName = s.current.NodeName
	c.current.CallbackGroup = s.current.CallbackGroup
}

// fill gives a field of a row a value unless it has one.
func fill[T comparable](field *T, value T) {
	var unknown T
	if *field == unknown {
		*field = value
	}
}
