package entities

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// awaitScan notes that an entity was created which only a scan of the memory completes: nothing else tells the types of
// messages.
func (g *Graph) awaitScan(time int64) { g.unscanned = trace.Some(time) }

// WantsScan reports whether entities were created since the last Snapshot that was applied began, or none was.
// Constructors run on for a moment after their initialization events, and a scan costs: wait until no more events come,
// or for a while.
func (g *Graph) WantsScan() bool { return g.unscanned.Valid }

// Apply takes in what a scan found. It does not read memory for what the snapshot tells. What initialization events
// said is kept; what was created or destroyed since the scan began is not taken for what the scan saw at the same
// address.
func (g *Graph) Apply(snapshot *Snapshot) { g.apply(snapshot, false) }

// Complete takes in what a scan after the end of the recording found of the entities that are known. Others may have
// been created since the end.
func (g *Graph) Complete(snapshot *Snapshot) { g.apply(snapshot, true) }

func (g *Graph) apply(snapshot *Snapshot, onlyKnown bool) {
	if g.unscanned.Valid && g.unscanned.Value < snapshot.Begin {
		g.unscanned = trace.Optional[int64]{}
	}
	a := applier{g, snapshot.Begin, max(snapshot.Begin, snapshot.End), snapshot.Adapted, onlyKnown}
	rows := &snapshot.Entities
	for i := range rows.Contexts {
		a.context(rows.Contexts[i])
	}
	for i := range rows.Nodes {
		a.node(rows.Nodes[i])
	}
	for i := range rows.Executors {
		a.executor(rows.Executors[i])
	}
	for i := range rows.CallbackGroups {
		a.group(rows.CallbackGroups[i])
	}
	for i := range rows.Publishers {
		a.publisher(rows.Publishers[i])
	}
	symbols := make(map[trace.Address]string)
	for _, row := range rows.CallbackInfos {
		symbols[row.Callback] = row.Symbol
	}
	for i := range rows.Subscriptions {
		a.subscription(rows.Subscriptions[i], symbols)
	}
	for i := range rows.Timers {
		a.timer(rows.Timers[i], symbols)
	}
	for i := range rows.ServiceServers {
		a.service(rows.ServiceServers[i], symbols)
	}
	for i := range rows.Clients {
		a.client(rows.Clients[i])
	}
	for i := range rows.LifecycleStateMachines {
		a.stateMachine(rows.LifecycleStateMachines[i])
	}
	for buried, time := range g.graves {
		if time < snapshot.Begin {
			delete(g.graves, buried)
		}
	}
}

// applier puts what a scan that began at a time found into a graph.
type applier struct {
	*Graph
	// begin and end are when the scan began and ended.
	begin, end int64
	adapted    map[trace.Address]bool // Snapshot.Adapted
	// onlyKnown: what is not known already is left out.
	onlyKnown bool
}

// mayHaveMissed reports whether events were lost after the scan began. What it saw may be gone since, and another one
// in its place: a later scan tells.
func (a applier) mayHaveMissed(lostUntil int64) bool { return lostUntil != 0 && lostUntil >= a.begin }

// settle returns the entity that a scan saw at an address: the one that lives there, or lived there when the scan
// began, or a new one. It returns false where somebody else has lived there since. fini is the event that would have
// ended the entity. is tells whether what the scan saw can be an entity that is doubtful. create also tells whether the
// entity is new: it may be known by another address.
func settle[E resident](
	a applier, p *population[E], address trace.Address, fini abi.Event, is func(E) bool, create func(life) (entity E, fresh bool),
) (E, bool) {
	last, known := p.last(address)
	if known {
		begin := int64(always) // of another one
		if doubt, doubtful := last.doubted(); doubtful {
			switch {
			case a.mayHaveMissed(p.lostUntil):
				return last, false
			case is(last):
				last.confirm(a.end)
			default:
				p.bury(last, doubt)
				begin = a.end // when it came is not known
			}
		}
		until, ended := last.end()
		switch {
		case last.begin() >= a.begin:
			return last, false
		case !ended || until >= a.begin:
			return last, true
		}
		if a.onlyKnown {
			return last, false
		}
		entity, _ := create(life{since: max(begin, until), seen: a.begin})
		p.add(address, entity)
		return entity, true
	}
	if a.mayHaveMissed(p.lostUntil) || !a.mayGrow() {
		var none E
		return none, false
	}
	begin := int64(always)
	if p.lostUntil != 0 {
		begin = a.end // others may have lived there before
	}
	entity, fresh := create(life{since: begin, seen: a.begin})
	if fresh && a.onlyKnown {
		return entity, false
	}
	p.add(address, entity)
	if time, ok := a.graves[grave{fini, address}]; ok && time >= a.begin {
		p.bury(entity, time)
	}
	return entity, true
}

func (a applier) context(row trace.Context) {
	c, ok := settle(a, &a.contexts, row.ContextHandle, 0, func(*rclContext) bool { return true }, func(l life) (*rclContext, bool) { return &rclContext{life: l}, true })
	if !ok || c.current.Provenance != "" {
		return
	}
	row.ProcessKey = a.key
	c.current = row
	a.contexts.note(c)
}

func (a applier) stateMachine(row trace.LifecycleStateMachine) {
	m, ok := settle(a, &a.stateMachines, row.StateMachine, 0, func(m *stateMachine) bool { return may(m.current.NodeHandle, row.NodeHandle) }, func(l life) (*stateMachine, bool) { return &stateMachine{life: l}, true })
	if !ok || m.current.Provenance != "" {
		return
	}
	row.ProcessKey = a.key
	m.current = row
	a.stateMachines.note(m)
}

func (a applier) node(row trace.Node) {
	n, ok := settle(a, &a.nodes, row.NodeHandle, abi.EventRclNodeFini, func(n *node) bool { return isNode(n, &row) }, func(l life) (*node, bool) { return &node{life: l}, true })
	if !ok {
		return
	}
	a.failures.clear("node", row.NodeHandle)
	current := &n.current
	current.ProcessKey = a.key
	fill(&current.NodeHandle, row.NodeHandle)
	fill(&current.RMWHandle, row.RMWHandle)
	fill(&current.NodeName, row.NodeName)
	fill(&current.Namespace, row.Namespace)
	fill(&current.Provenance, row.Provenance)
	a.nodes.note(n)
}

func (a applier) executor(row trace.Executor) {
	e, ok := settle(a, &a.executors, row.Executor, abi.EventExecutorDestroy, func(e *executor) bool { return isExecutor(e, &row) }, func(l life) (*executor, bool) { return &executor{life: l}, true })
	if !ok {
		return
	}
	current := &e.current
	current.ProcessKey = a.key
	fill(&current.Executor, row.Executor)
	fill(&current.ExecutorType, row.ExecutorType)
	fill(&current.ThreadCount, row.ThreadCount)
	fill(&current.Provenance, row.Provenance)
	a.setCollector(e, row.EntitiesCollector)
	a.executors.note(e)
}

func (a applier) group(row trace.CallbackGroup) {
	_, nodeKnown := a.nodes.last(row.NodeHandle) // then the group is a part of it: no event tells that it was created
	if last, ok := a.groups.last(row.CallbackGroup); ok && lived(last, a.begin) && !isGroup(last, &row) {
		a.groups.bury(last, a.begin-1) // no event tells of its end, either
	}
	c, ok := settle(a, &a.groups, row.CallbackGroup, 0, func(c *group) bool { return isGroup(c, &row) }, func(l life) (*group, bool) {
		return &group{life: l, joined: always}, !nodeKnown
	})
	if !ok {
		return
	}
	current := &c.current
	current.ProcessKey = a.key
	fill(&current.CallbackGroup, row.CallbackGroup)
	fill(&current.GroupTypeName, row.GroupTypeName)
	fill(&current.NodeHandle, row.NodeHandle)
	fill(&current.NodeName, row.NodeName)
	fill(&current.Provenance, row.Provenance)
	if row.Executor != 0 && c.joined < a.begin {
		current.Executor = row.Executor
	}
	a.groups.note(c)
}

func (a applier) publisher(row trace.Publisher) {
	p, ok := settle(a, &a.publishers, row.PublisherHandle, abi.EventRclPublisherFini, func(p *publisher) bool { return isPublisher(p, &row) }, func(l life) (*publisher, bool) {
		if known, ok := a.rmwPublishers.at(row.RMWPublisherHandle, now); ok && known.current.PublisherHandle == 0 {
			return known, false // by its rmw handle
		}
		return &publisher{life: l}, true
	})
	if !ok {
		return
	}
	a.failures.clear("publisher", row.PublisherHandle)
	a.failures.clear("rmw publisher", row.RMWPublisherHandle)
	current := &p.current
	current.ProcessKey = a.key
	fill(&current.PublisherHandle, row.PublisherHandle)
	fill(&current.NodeHandle, row.NodeHandle)
	fill(&current.RMWPublisherHandle, row.RMWPublisherHandle)
	fill(&current.TopicName, row.TopicName)
	fill(&current.QueueDepth, row.QueueDepth)
	fill(&current.NodeName, row.NodeName)
	fill(&current.MessageType, row.MessageType)
	fill(&current.GID, row.GID)
	fill(&current.Provenance, row.Provenance)
	a.knowType(&p.typed, KnownType{current.PublisherHandle, current.MessageType, a.adapted[current.PublisherHandle]})
	a.rmwPublishers.addLater(row.RMWPublisherHandle, p)
	a.publishers.note(p)
}

func (a applier) subscription(row trace.Subscription, symbols map[trace.Address]string) {
	s, ok := settle(a, &a.subscriptions, row.SubscriptionHandle, abi.EventRclSubscriptionFini, func(s *subscription) bool { return isSubscription(s, &row) }, func(l life) (*subscription, bool) {
		if known, ok := a.rmwSubscriptions.at(row.RMWSubscriptionHandle, now); ok && known.current.SubscriptionHandle == 0 {
			return known, false
		}
		return &subscription{life: l}, true
	})
	if !ok {
		return
	}
	a.failures.clear("subscription", row.SubscriptionHandle)
	a.failures.clear("rmw subscription", row.RMWSubscriptionHandle)
	s.scanned = true
	current := &s.current
	current.ProcessKey = a.key
	fill(&current.SubscriptionHandle, row.SubscriptionHandle)
	fill(&current.NodeHandle, row.NodeHandle)
	fill(&current.RMWSubscriptionHandle, row.RMWSubscriptionHandle)
	fill(&current.TopicName, row.TopicName)
	fill(&current.QueueDepth, row.QueueDepth)
	fill(&current.NodeName, row.NodeName)
	fill(&current.MessageType, row.MessageType)
	fill(&current.CallbackGroup, row.CallbackGroup)
	fill(&current.Provenance, row.Provenance)
	a.knowType(&s.typed, KnownType{Address: current.RMWSubscriptionHandle, MessageType: current.MessageType})
	a.rmwSubscriptions.addLater(row.RMWSubscriptionHandle, s)
	if o, ok := a.objectOf(s, row, symbols[row.Callback]); ok {
		o.setIntraProcess(row.IsIntraProcess.Value)
		fill(&o.current.Buffer, row.Buffer)
		fill(&o.current.IPB, row.IPB)
		fill(&o.current.Capacity, row.Capacity)
		if o.callback == nil {
			o.callback = a.callback(row.Callback, &o.life)
		}
		if o.callback != nil {
			a.confirm(o.callback, row.Callback)
			fill(&o.callback.current.Symbol, symbols[row.Callback])
		}
	}
	a.changedSubscription(s)
}

// objectOf returns the rclcpp object of a row of a subscription. Those of action clients have none.
func (a applier) objectOf(s *subscription, row trace.Subscription, symbol string) (*object, bool) {
	if row.Subscription == 0 {
		return nil, false
	}
	is := func(o *object) bool {
		return o.subscription == s && may(o.current.Callback, row.Callback) && may(o.current.IsIntraProcess, row.IsIntraProcess) &&
			runs(o.callback, symbol)
	}
	o, ok := settle(a, &a.objects, row.Subscription, 0, is, func(l life) (*object, bool) {
		o := &object{life: s.life}
		if l.since > s.since {
			o.life = l
		}
		o.seen = a.begin
		o.current = trace.Subscription{ProcessKey: a.key, Subscription: row.Subscription, Provenance: trace.FromMemory}
		return o, false // a part of a subscription that is known
	})
	if !ok || o.subscription != nil && o.subscription != s {
		return nil, false
	}
	if o.subscription == nil {
		s.serve(o)
	}
	return o, true
}

// callback returns the callback that a scan saw at an address; nil if somebody else has lived there since. It lives as
// long as its owner.
func (a applier) callback(address trace.Address, owner *life) *callback {
	if address == 0 {
		return nil
	}
	c, ok := settle(a, &a.callbacks, address, 0, isNobodys, func(l life) (*callback, bool) {
		c := &callback{life: *owner}
		if l.since > owner.since {
			c.life = l
		}
		c.seen = a.begin
		c.current = trace.CallbackInfo{ProcessKey: a.key, Callback: address, Provenance: trace.FromMemory}
		if owner.ended {
			c.current.EndTimestamp = trace.Some(owner.until)
		}
		return c, false // a part of an owner that is known
	})
	if !ok {
		return nil
	}
	a.failures.clear("callback", address)
	return c
}

// confirm takes back the doubts about the callback of an owner that the scan has seen.
func (a applier) confirm(c *callback, address trace.Address) {
	if _, doubtful := c.doubted(); doubtful && !a.mayHaveMissed(a.callbacks.lostUntil) && c.current.Callback == address {
		c.confirm(a.end)
	}
}

func (a applier) timer(row trace.Timer, symbols map[trace.Address]string) {
	t, ok := settle(a, &a.timers, row.TimerHandle, abi.EventRclTimerFini, func(t *timer) bool { return isTimer(t, &row) && runs(t.callback, symbols[row.Callback]) }, func(l life) (*timer, bool) { return &timer{life: l}, true })
	if !ok {
		return
	}
	a.failures.clear("timer", row.TimerHandle)
	current := &t.current
	current.ProcessKey = a.key
	fill(&current.TimerHandle, row.TimerHandle)
	fill(&current.Period, row.Period)
	fill(&current.NodeHandle, row.NodeHandle)
	fill(&current.NodeName, row.NodeName)
	fill(&current.CallbackGroup, row.CallbackGroup)
	fill(&current.Provenance, row.Provenance)
	if t.callback == nil {
		// One that ended since the scan began was shared with a timer that has gone.
		if c := a.callback(row.Callback, &t.life); c != nil && (!c.ended || t.ended) {
			t.keep(c)
		}
	}
	if t.callback != nil {
		a.confirm(t.callback, row.Callback)
		fill(&t.callback.current.Symbol, symbols[row.Callback])
	}
	a.changedTimer(t)
}

func (a applier) service(row trace.ServiceServer, symbols map[trace.Address]string) {
	s, ok := settle(a, &a.services, row.ServiceHandle, abi.EventRclServiceFini, func(s *service) bool { return isService(s, &row) && runs(s.callback, symbols[row.Callback]) }, func(l life) (*service, bool) {
		if known, ok := a.adoptService(row.ServiceHandle, func(s *service) bool { return s.current.RMWServiceHandle == row.RMWServiceHandle }); ok {
			return known, false
		}
		return &service{life: l}, true
	})
	if !ok {
		return
	}
	a.failures.clear("service", row.ServiceHandle)
	current := &s.current
	current.ProcessKey = a.key
	fill(&current.ServiceHandle, row.ServiceHandle)
	fill(&current.NodeHandle, row.NodeHandle)
	fill(&current.RMWServiceHandle, row.RMWServiceHandle)
	fill(&current.ServiceName, row.ServiceName)
	fill(&current.ServiceType, row.ServiceType)
	fill(&current.CallbackGroup, row.CallbackGroup)
	fill(&current.NodeName, row.NodeName)
	fill(&current.Provenance, row.Provenance)
	if s.callback == nil {
		s.callback = a.callback(row.Callback, &s.life)
	}
	if s.callback != nil {
		a.confirm(s.callback, row.Callback)
		fill(&s.callback.current.Symbol, symbols[row.Callback])
	}
	a.changedService(s)
}

func (a applier) client(row trace.Client) {
	c, ok := settle(a, &a.clients, row.ClientHandle, abi.EventRclClientFini, func(c *client) bool { return isClient(c, &row) }, func(l life) (*client, bool) { return &client{life: l}, true })
	if !ok {
		return
	}
	a.failures.clear("client", row.ClientHandle)
	current := &c.current
	current.ProcessKey = a.key
	fill(&current.ClientHandle, row.ClientHandle)
	fill(&current.NodeHandle, row.NodeHandle)
	fill(&current.RMWClientHandle, row.RMWClientHandle)
	fill(&current.ServiceName, row.ServiceName)
	fill(&current.ServiceType, row.ServiceType)
	fill(&current.GID, row.GID)
	fill(&current.CallbackGroup, row.CallbackGroup)
	fill(&current.NodeName, row.NodeName)
	fill(&current.Provenance, row.Provenance)
	a.clients.note(c)
}
