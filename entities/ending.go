package entities

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/trace"
)

// maxGraves bounds the ends remembered of entities that nothing was known of.
const maxGraves = 1 << 12

// End ends the entity that a fini event names, at the time of the event, together with what it owns. event is one of
// abi.EventRclPublisherFini to abi.EventExecutorDestroy; others have no effect.
func (g *Graph) End(event abi.Event, address trace.Address, time int64) {
	known := false
	switch event {
	case abi.EventRclNodeFini:
		known = endAt(&g.nodes, address, time)
		g.endLoggers(address, time)
	case abi.EventRclPublisherFini:
		known = endAt(&g.publishers, address, time)
	case abi.EventRclSubscriptionFini:
		known = endAt(&g.subscriptions, address, time)
	case abi.EventRclTimerFini:
		known = endAt(&g.timers, address, time)
	case abi.EventRclServiceFini:
		known = endAt(&g.services, address, time)
	case abi.EventRclClientFini:
		known = endAt(&g.clients, address, time)
	case abi.EventExecutorDestroy:
		known = endAt(&g.executors, address, time)
	default:
		return
	}
	if known || address == 0 {
		return
	}
	if len(g.graves) >= maxGraves {
		clear(g.graves)
	}
	g.graves[grave{event, address}] = time
}

// endsEntity reports whether End has an effect.
func endsEntity(event abi.Event) bool {
	switch event {
	case abi.EventRclNodeFini, abi.EventRclPublisherFini, abi.EventRclSubscriptionFini, abi.EventRclTimerFini, abi.EventRclServiceFini, abi.EventRclClientFini, abi.EventExecutorDestroy:
		return true
	}
	return false
}

// grave is an entity that ended before anything was known of it. A scan of the memory that began earlier may still have
// seen it.
type grave struct {
	event   abi.Event
	address trace.Address
}

// endAt ends who lives at an address. It reports whether that is known.
func endAt[E resident](p *population[E], address trace.Address, time int64) bool {
	if entity, ok := p.at(address, time); ok {
		p.bury(entity, time)
		return true
	}
	if last, ok := p.last(address); ok && last.begin() <= time {
		if _, ended := last.end(); !ended { // it is doubtful
			p.bury(last, endOf(last, time))
		}
	}
	return false
}

// endLoggers ends the publishers of a node whose own fini events name another place than they live at.
func (g *Graph) endLoggers(nodeHandle trace.Address, time int64) {
	for _, publishers := range g.rmwPublishers {
		for _, p := range publishers {
			if p.announced != 0 && p.current.NodeHandle == nodeHandle && p.since <= time {
				g.publishers.end(p, time)
			}
		}
	}
}

// buryNode ends a node. Its callback groups go with it: no event tells their end, and the next node may have them at
// the same addresses.
func (g *Graph) buryNode(n *node, time int64) {
	g.nodes.end(n, time)
	for _, groups := range g.groups.lives {
		for _, c := range groups {
			if c.current.NodeHandle == n.current.NodeHandle {
				g.groups.end(c, time)
			}
		}
	}
	for _, machines := range g.stateMachines.lives {
		for _, m := range machines {
			if m.current.NodeHandle == n.current.NodeHandle && m.since >= n.since {
				g.stateMachines.end(m, time)
			}
		}
	}
}

func (g *Graph) burySubscription(s *subscription, time int64) {
	g.subscriptions.end(s, time)
	for _, o := range s.objects {
		g.buryObject(o, time)
	}
}

func (g *Graph) buryObject(o *object, time int64) {
	g.objects.end(o, time)
	if o.callback != nil {
		g.callbacks.end(o.callback, time)
	}
}

func (g *Graph) buryTimer(t *timer, time int64) {
	g.timers.end(t, time)
	g.leave(t, time)
}

func (g *Graph) buryService(s *service, time int64) {
	g.services.end(s, time)
	if s.callback != nil {
		g.callbacks.end(s.callback, time)
	}
}

func (n *node) bury(time int64) { n.life.bury(time, &n.current.EndTimestamp) }

func (p *publisher) bury(time int64) { p.life.bury(time, &p.current.EndTimestamp) }

func (s *subscription) bury(time int64) { s.life.bury(time, &s.current.EndTimestamp) }

func (o *object) bury(time int64) { o.life.bury(time, &o.current.EndTimestamp) }

func (t *timer) bury(time int64) { t.life.bury(time, &t.current.EndTimestamp) }

func (s *service) bury(time int64) { s.life.bury(time, &s.current.EndTimestamp) }

func (c *client) bury(time int64) { c.life.bury(time, &c.current.EndTimestamp) }

func (c *callback) bury(time int64) { c.life.bury(time, &c.current.EndTimestamp) }

func (g *group) bury(time int64) { g.life.bury(time, &g.current.EndTimestamp) }

func (e *executor) bury(time int64) { e.life.bury(time, &e.current.EndTimestamp) }

func (c *rclContext) bury(time int64) { c.life.bury(time, &c.current.EndTimestamp) }

func (m *stateMachine) bury(time int64) { m.life.bury(time, &m.current.EndTimestamp) }

// bury notes the end of a life, also in the entity's row.
func (l *life) bury(time int64, column *trace.Optional[int64]) {
	l.finish(time)
	*column = trace.Some(time)
}
