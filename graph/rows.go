package graph

import "slices"

// Rows returns the rows of entities that became known since the last call. A row that may still improve is held back for a few
// calls, or until the final call. Each entity has one row for each life; should it improve later, that row is returned again,
// improved, and the later one counts.
func (g *Graph) Rows(final bool) Rows {
	// The rows of its objects stand for a subscription that has some.
	g.changedSubscriptions = slices.DeleteFunc(g.changedSubscriptions, func(s *subscription) bool { return len(s.objects) > 0 })
	g.nameNodes()
	var rows Rows
	g.changedNodes = tellChanged(g.changedNodes, &rows.Nodes, final)
	g.changedPublishers = tellChanged(g.changedPublishers, &rows.Publishers, final)
	g.changedSubscriptions = tellChanged(g.changedSubscriptions, &rows.Subscriptions, final)
	g.changedObjects = tellChanged(g.changedObjects, &rows.Subscriptions, final)
	g.changedTimers = tellChanged(g.changedTimers, &rows.Timers, final)
	g.changedCallbacks = tellChanged(g.changedCallbacks, &rows.Callbacks, final)
	return rows
}

// reporter is an entity that has rows of type R.
type reporter[R any] interface {
	complete() bool
	tell(complete, final bool) (row R, due, queued bool)
}

// tellChanged appends the rows that are due and returns the entities that remain queued.
func tellChanged[R any, E reporter[R]](changed []E, rows *[]R, final bool) []E {
	remaining := changed[:0]
	for _, entity := range changed {
		row, due, queued := entity.tell(entity.complete(), final)
		if due {
			*rows = append(*rows, row)
		}
		if queued {
			remaining = append(remaining, entity)
		}
	}
	clear(changed[len(remaining):])
	return remaining
}

// nameNodes looks again for the node names that waiting rows lack.
func (g *Graph) nameNodes() {
	for _, p := range g.changedPublishers {
		if p.current.NodeName == "" {
			p.current.NodeName = g.nodeName(p.current.NodeHandle, p.references())
		}
	}
	for _, t := range g.changedTimers {
		if t.current.NodeName == "" {
			t.current.NodeName = g.nodeName(t.current.NodeHandle, t.references())
			t.inherit()
		}
	}
	for _, s := range g.changedSubscriptions {
		s.nameNode(g)
	}
	for _, o := range g.changedObjects {
		if o.subscription != nil {
			o.subscription.nameNode(g)
			o.inherit()
		}
	}
}

func (s *subscription) nameNode(g *Graph) {
	if s.current.NodeName == "" {
		s.current.NodeName = g.nodeName(s.current.NodeHandle, s.references())
	}
}

func (g *Graph) changedNode(n *node) {
	if n.change() {
		g.changedNodes = append(g.changedNodes, n)
	}
}

func (g *Graph) changedPublisher(p *publisher) {
	if p.change() {
		g.changedPublishers = append(g.changedPublishers, p)
	}
}

func (g *Graph) changedSubscription(s *subscription) {
	for _, o := range s.objects {
		g.changedObject(o)
	}
	if len(s.objects) == 0 && s.change() {
		g.changedSubscriptions = append(g.changedSubscriptions, s)
	}
}

func (g *Graph) changedObject(o *object) {
	o.inherit()
	if o.change() {
		g.changedObjects = append(g.changedObjects, o)
	}
	if o.callback != nil {
		g.changedCallback(o.callback)
	}
}

func (g *Graph) changedTimer(t *timer) {
	t.inherit()
	if t.change() {
		g.changedTimers = append(g.changedTimers, t)
	}
	if t.callback != nil {
		g.changedCallback(t.callback)
	}
}

func (g *Graph) changedCallback(c *callback) {
	if c.change() {
		g.changedCallbacks = append(g.changedCallbacks, c)
	}
}
