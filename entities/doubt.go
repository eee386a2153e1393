package entities

import "github.com/caret-bpf/caret-bpf/trace"

// Doubt says that initialization events, or ends of entities, were lost after a time. Whoever lived then may have
// ended, and another one may have its address: until a scan that begins later finds it, nothing is known to be it. One
// that no scan finds has ended at that time, as far as anybody can tell. until is when the last of them was lost at the
// latest: what began before may have ended, too.
func (g *Graph) Doubt(time, until int64) {
	g.lostUntil = max(g.lostUntil, until)
	g.nodes.doubtAll(time, until)
	g.publishers.doubtAll(time, until)
	g.subscriptions.doubtAll(time, until)
	g.objects.doubtAll(time, until)
	g.timers.doubtAll(time, until)
	g.services.doubtAll(time, until)
	g.clients.doubtAll(time, until)
	g.callbacks.doubtAll(time, until)
	g.groups.doubtAll(time, until)
	g.executors.doubtAll(time, until)
	g.contexts.doubtAll(time, until)
	g.stateMachines.doubtAll(time, until)
	for _, publishers := range g.rmwPublishers {
		for _, p := range publishers {
			p.doubtFrom(time)
			p.doubtFrom(until)
		}
	}
	for _, subscriptions := range g.rmwSubscriptions {
		for _, s := range subscriptions {
			s.doubtFrom(time)
			s.doubtFrom(until)
		}
	}
	clear(g.gids)
	g.awaitScan(max(until, g.unscanned.Value))
}

// endDoubtful ends what nobody has found again.
func (g *Graph) endDoubtful() {
	endDoubtful(&g.nodes)
	endDoubtful(&g.publishers)
	endDoubtful(&g.subscriptions)
	endDoubtful(&g.objects)
	endDoubtful(&g.timers)
	endDoubtful(&g.services)
	endDoubtful(&g.clients)
	endDoubtful(&g.callbacks)
	endDoubtful(&g.groups)
	endDoubtful(&g.executors)
	endDoubtful(&g.contexts)
	endDoubtful(&g.stateMachines)
}

func endDoubtful[E resident](p *population[E]) {
	for _, lives := range p.lives {
		for _, entity := range lives {
			if doubt, doubtful := entity.doubted(); doubtful {
				p.end(entity, doubt)
			}
		}
	}
}

func (p *population[E]) doubtAll(from, until int64) {
	if from > p.lostUntil {
		p.lostFrom = from
	}
	p.lostUntil = max(p.lostUntil, until)
	for _, lives := range p.lives {
		for _, entity := range lives {
			entity.doubtFrom(from)
			entity.doubtFrom(until)
		}
	}
}

// doubtFrom notes that it is not known from a time on whether the entity lives. An earlier doubt remains.
func (l *life) doubtFrom(time int64) {
	if l.ended || l.doubtful || l.since >= time {
		return
	}
	l.doubt, l.doubtful = time, true
}

// confirm takes back the doubts: the entity was found again by a scan that ended at a time. Until then another one may
// have lived at its address, and have gone.
func (l *life) confirm(time int64) {
	if l.gapUntil == 0 {
		l.gapFrom = l.doubt
	}
	l.gapUntil = max(l.gapUntil, time)
	l.doubt, l.doubtful = 0, false
}

// endOf is when an entity ends of which an end at a time is known: while it was doubtful, somebody else may have lived
// in its place.
func endOf(entity mortal, time int64) int64 {
	if doubt, doubtful := entity.doubted(); doubtful {
		return min(doubt, time)
	}
	return time
}

// may reports whether two values can be of one entity: each is equal, or not known.
func may[T comparable](a, b T) bool {
	var unknown T
	return a == b || a == unknown || b == unknown
}

// The functions is... report whether what a scan found at an entity's address can be that entity.

func isNode(n *node, row *trace.Node) bool {
	c := &n.current
	return may(c.RMWHandle, row.RMWHandle) && may(c.NodeName, row.NodeName) && may(c.Namespace, row.Namespace)
}

func isPublisher(p *publisher, row *trace.Publisher) bool {
	c := &p.current
	return may(c.RMWPublisherHandle, row.RMWPublisherHandle) && may(c.NodeHandle, row.NodeHandle) && may(c.TopicName, row.TopicName) &&
		may(c.MessageType, row.MessageType) && may(c.GID, row.GID)
}

func isSubscription(s *subscription, row *trace.Subscription) bool {
	c := &s.current
	return may(c.RMWSubscriptionHandle, row.RMWSubscriptionHandle) && may(c.NodeHandle, row.NodeHandle) && may(c.TopicName, row.TopicName) &&
		may(c.MessageType, row.MessageType)
}

func isTimer(t *timer, row *trace.Timer) bool {
	c := &t.current
	return may(c.NodeHandle, row.NodeHandle) && may(c.Callback, row.Callback) && may(c.Period, row.Period)
}

func isService(s *service, row *trace.ServiceServer) bool {
	c := &s.current
	return may(c.RMWServiceHandle, row.RMWServiceHandle) && may(c.NodeHandle, row.NodeHandle) && may(c.ServiceName, row.ServiceName) &&
		may(c.ServiceType, row.ServiceType)
}

func isClient(l *client, row *trace.Client) bool {
	c := &l.current
	return may(c.RMWClientHandle, row.RMWClientHandle) && may(c.NodeHandle, row.NodeHandle) && may(c.ServiceName, row.ServiceName) &&
		may(c.ServiceType, row.ServiceType) && may(c.GID, row.GID)
}

func isGroup(g *group, row *trace.CallbackGroup) bool {
	return may(g.current.GroupTypeName, row.GroupTypeName) && may(g.current.NodeHandle, row.NodeHandle)
}

// isNobodys is asked of a doubtful callback at the address of one whose owner has none yet.
func isNobodys(*callback) bool { return false }

// runs reports whether a callback can be the one that a scan found with a symbol.
func runs(c *callback, symbol string) bool { return c == nil || may(c.current.Symbol, symbol) }

func isExecutor(e *executor, row *trace.Executor) bool {
	// Of an executor of the user's own class, its construction tells the class that it is derived from.
	own := !executorsOfRclcpp[row.ExecutorType]
	return (own || may(e.current.ExecutorType, row.ExecutorType)) && may(e.current.ThreadCount, row.ThreadCount) &&
		may(e.current.EntitiesCollector, row.EntitiesCollector)
}
