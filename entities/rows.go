package entities

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Rows returns the rows of entities that became known since the last call. A row that may still improve is held back
// for a few calls, or until the final call. Each entity has one row for each life; should it improve later, or end,
// that row is returned again, improved, and the later one counts: it has the same number and a greater revision, if
// NumberBy was called.
func (g *Graph) Rows(final bool) trace.Batch {
	if final {
		g.endDoubtful()
	}
	// The rows of its objects stand for a subscription that has some.
	g.subscriptions.changed = slices.DeleteFunc(g.subscriptions.changed, func(s *subscription) bool {
		if len(s.objects) == 0 {
			return false
		}
		s.waiting = false
		return true
	})
	g.complete()
	var rows trace.Batch
	tellChanged(g.numbers, &g.nodes, &rows.Nodes, final)
	tellChanged(g.numbers, &g.publishers, &rows.Publishers, final)
	tellChanged(g.numbers, &g.subscriptions, &rows.Subscriptions, final)
	tellChanged(g.numbers, &g.objects, &rows.Subscriptions, final)
	tellChanged(g.numbers, &g.timers, &rows.Timers, final)
	tellChanged(g.numbers, &g.services, &rows.ServiceServers, final)
	tellChanged(g.numbers, &g.clients, &rows.Clients, final)
	tellChanged(g.numbers, &g.callbacks, &rows.CallbackInfos, final)
	tellChanged(g.numbers, &g.groups, &rows.CallbackGroups, final)
	tellChanged(g.numbers, &g.executors, &rows.Executors, final)
	tellChanged(g.numbers, &g.contexts, &rows.Contexts, final)
	tellChanged(g.numbers, &g.stateMachines, &rows.LifecycleStateMachines, final)
	return rows
}

// reporter is an entity that has rows of type R.
type reporter[R any] interface {
	resident
	tell(complete, final bool) (row R, due, queued bool)
	number(numbers *Numbers) uint64
}

// tellChanged appends the rows that are due; the other entities remain queued.
func tellChanged[R any, P stamped[R], E reporter[R]](numbers *Numbers, p *population[E], rows *trace.Rows[R], final bool) {
	remaining := p.changed[:0]
	for _, entity := range p.changed {
		_, ended := entity.end()
		row, due, queued := entity.tell(entity.complete() || ended, final)
		if due {
			if numbers != nil {
				P(&row).Stamp(entity.number(numbers), numbers.next())
			}
			*rows = append(*rows, row)
		}
		if queued {
			remaining = append(remaining, entity)
		}
	}
	clear(p.changed[len(remaining):])
	p.changed = remaining
}

// complete looks again for the names that waiting rows lack.
func (g *Graph) complete() {
	for _, p := range g.publishers.changed {
		g.nameNode(&p.current.NodeName, p.current.NodeHandle, &p.life)
	}
	for _, t := range g.timers.changed {
		g.nameNode(&t.current.NodeName, t.current.NodeHandle, &t.life)
		t.inherit()
	}
	for _, s := range g.subscriptions.changed {
		g.nameNode(&s.current.NodeName, s.current.NodeHandle, &s.life)
	}
	for _, o := range g.objects.changed {
		if s := o.subscription; s != nil {
			g.nameNode(&s.current.NodeName, s.current.NodeHandle, &s.life)
			o.inherit()
		}
	}
	for _, s := range g.services.changed {
		g.nameNode(&s.current.NodeName, s.current.NodeHandle, &s.life)
		s.inherit()
	}
	for _, c := range g.clients.changed {
		g.nameNode(&c.current.NodeName, c.current.NodeHandle, &c.life)
	}
	for _, m := range g.stateMachines.changed {
		g.nameNode(&m.current.NodeName, m.current.NodeHandle, &m.life)
	}
	for _, e := range g.executors.changed {
		if !e.complete() || e.current.EntitiesCollector == 0 {
			g.completeExecutor(e)
		}
	}
	for _, c := range g.groups.changed {
		g.nameNode(&c.current.NodeName, c.current.NodeHandle, &c.life)
		if c.current.Executor == 0 {
			g.nameExecutor(c)
		}
	}
}

// nameNode fills in the full name of a node unless it is known.
func (g *Graph) nameNode(name *string, handle trace.Address, l *life) {
	if *name == "" {
		*name = g.nodeName(handle, l.references())
	}
}

func (g *Graph) changedSubscription(s *subscription) {
	for _, o := range s.objects {
		g.changedObject(o)
	}
	if len(s.objects) == 0 {
		g.subscriptions.note(s)
	}
}

func (g *Graph) changedObject(o *object) {
	o.inherit()
	g.objects.note(o)
	if o.callback != nil {
		g.callbacks.note(o.callback)
	}
}

func (g *Graph) changedTimer(t *timer) {
	t.inherit()
	g.timers.note(t)
	if t.callback != nil {
		g.callbacks.note(t.callback)
	}
}

func (g *Graph) changedService(s *service) {
	s.inherit()
	g.services.note(s)
	if s.callback != nil {
		g.callbacks.note(s.callback)
	}
}
