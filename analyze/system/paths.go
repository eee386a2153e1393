package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrNoSuchName is returned for a topic or node that the architecture does not have.
var ErrNoSuchName = errors.New("no such topic or node")

const (
	// DefaultPathLimit is the number of paths that Paths returns at most unless asked otherwise.
	DefaultPathLimit = 1000
	// DefaultPathNodes is the number of nodes of a path at most unless asked otherwise.
	DefaultPathNodes = 50
	// pathSteps bounds the search, whose time can grow exponentially with the nodes.
	pathSteps = 1_000_000
)

// ignoredTopics connect nearly every node with every other. CARET leaves them out of its architecture.
var ignoredTopics = []string{"/parameter_events", "/rosout", "/clock"}

// PathQuery says which paths are asked for.
type PathQuery struct {
	// From is a topic or a node. A path begins with the publish of the topic, or with its reception where nobody is known
	// to publish it. Empty: wherever messages originate, which is in callbacks of timers and services and outside of
	// callbacks.
	From string
	// To is a topic or a node. A path ends with the reception of the topic, or with its publish where nobody is known to
	// receive it. Empty: wherever no path leads on.
	To string
	// Undefined also leads from every subscription of a node to each of its publishers, where no message context is known.
	Undefined bool
	// Limit and Nodes bound the number of paths and of the nodes of each; 0 is the default.
	Limit, Nodes int
}

// Paths enumerates the ways of messages through the nodes, the shortest first. No subscription is passed twice. Of the
// topics /parameter_events, /rosout and /clock only those that the query names are followed. complete is false when the
// bounds left paths out. It fails with ErrNoSuchName for an unknown From or To.
func (a *Architecture) Paths(ctx context.Context, q PathQuery) (paths []*Path, complete bool, err error) {
	s := newPathSearch(ctx, a, q)
	names := a.Names()
	for _, name := range []string{q.From, q.To} {
		if name != "" && !slices.Contains(names, name) {
			return nil, false, fmt.Errorf("%w: %s", ErrNoSuchName, name)
		}
	}
	for _, n := range a.Nodes {
		for _, p := range n.Publishers {
			if s.begins(p) {
				s.publish(NodePath{Node: n, Publisher: p})
			}
		}
		for _, sub := range n.Subscriptions {
			if s.beginsUnpublished(sub) {
				s.receive(sub)
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	slices.SortStableFunc(s.paths, func(x, y *Path) int { return cmp.Compare(len(x.Nodes), len(y.Nodes)) })
	return s.paths, !s.cut, nil
}

// Names are the different names of nodes and topics, in order.
func (a *Architecture) Names() []string {
	return a.NamesOf(func(n *Node) []string { return append(n.TopicNames(), n.Name) })
}

// NamesOf are the different names that nodes have of something, in order.
func (a *Architecture) NamesOf(of func(*Node) []string) []string {
	var names []string
	for _, n := range a.Nodes {
		names = append(names, of(n)...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// TopicNames are those of the node's publishers and subscriptions.
func (n *Node) TopicNames() (names []string) {
	for _, p := range n.Publishers {
		names = append(names, p.TopicName)
	}
	for _, s := range n.Subscriptions {
		names = append(names, s.TopicName)
	}
	return names
}

// pathSearch is a depth-first search along communications and through nodes.
type pathSearch struct {
	ctx   context.Context
	query PathQuery
	// receivers leads along topics, published has the subscriptions that it leads to; of topics that are followed.
	receivers map[*Publisher][]*Subscription
	published map[*Subscription]bool
	// useful are the subscriptions from which To can be reached; nil: all.
	useful map[*Subscription]bool
	// through are the publishers that messages of a subscription get to.
	through map[*Subscription][]NodePath

	at    []NodePath
	steps int
	paths []*Path
	cut   bool
}

func newPathSearch(ctx context.Context, a *Architecture, q PathQuery) *pathSearch {
	q.Limit = cmp.Or(q.Limit, DefaultPathLimit)
	q.Nodes = cmp.Or(q.Nodes, DefaultPathNodes)
	s := &pathSearch{
		ctx: ctx, query: q, receivers: make(map[*Publisher][]*Subscription), published: make(map[*Subscription]bool),
		through: make(map[*Subscription][]NodePath),
	}
	for _, c := range a.Communications {
		if s.follows(c.TopicName) {
			s.receivers[c.Publisher] = append(s.receivers[c.Publisher], c.Subscription)
			s.published[c.Subscription] = true
		}
	}
	for _, n := range a.Nodes {
		for _, sub := range n.Subscriptions {
			for _, p := range n.Publishers {
				context := n.Context(sub, p)
				if s.follows(sub.TopicName) && s.follows(p.TopicName) && (q.Undefined || context != ContextUndefined) {
					s.through[sub] = append(s.through[sub], NodePath{Node: n, Subscription: sub, Publisher: p, Context: context})
				}
			}
		}
	}
	if q.To != "" {
		s.findUseful(a)
	}
	return s
}

// IsFollowed reports whether paths lead along a topic that nobody names: not along those which nearly all nodes share.
func IsFollowed(topic string) bool { return !slices.Contains(ignoredTopics, topic) }

func (s *pathSearch) follows(topic string) bool {
	return IsFollowed(topic) || topic == s.query.From || topic == s.query.To
}

// findUseful goes backwards from the ends, so that the search enters no blind alleys.
func (s *pathSearch) findUseful(a *Architecture) {
	s.useful = make(map[*Subscription]bool)
	for changed := true; changed; {
		changed = false
		for _, n := range a.Nodes {
			for _, sub := range n.Subscriptions {
				if !s.useful[sub] && (s.endsReceived(sub) || slices.ContainsFunc(s.through[sub], s.leadsOn)) {
					s.useful[sub] = true
					changed = true
				}
			}
		}
	}
}

func (s *pathSearch) leadsOn(n NodePath) bool {
	return s.endsPublished(n.Publisher) || slices.ContainsFunc(s.receivers[n.Publisher], func(sub *Subscription) bool { return s.useful[sub] })
}

func (s *pathSearch) begins(p *Publisher) bool {
	if s.query.From != "" {
		return p.TopicName == s.query.From || p.Node.Name == s.query.From
	}
	if !s.follows(p.TopicName) {
		return false
	}
	for _, c := range p.Callbacks {
		if c.Subscription == nil && len(c.Polls) == 0 {
			return true
		}
	}
	return p.OutsideCallbacks > 0
}

func (s *pathSearch) beginsUnpublished(sub *Subscription) bool {
	return s.query.From != "" && sub.TopicName == s.query.From && !s.published[sub]
}

func (s *pathSearch) endsReceived(sub *Subscription) bool {
	return s.query.To != "" && (sub.TopicName == s.query.To || sub.Node.Name == s.query.To)
}

// endsPublished tells whether a path ends with a publish that nobody is known to receive.
func (s *pathSearch) endsPublished(p *Publisher) bool {
	return len(s.receivers[p]) == 0 && (s.query.To == "" || p.TopicName == s.query.To)
}

// publish goes on from a node that publishes.
func (s *pathSearch) publish(n NodePath) {
	s.at = append(s.at, n)
	defer func() { s.at = s.at[:len(s.at)-1] }()
	if s.endsPublished(n.Publisher) {
		s.found()
		return
	}
	for _, sub := range s.receivers[n.Publisher] {
		s.receive(sub)
	}
}

// receive goes on from a node that receives.
func (s *pathSearch) receive(sub *Subscription) {
	s.steps++
	switch {
	case s.useful != nil && !s.useful[sub], s.passed(sub):
		return
	case len(s.at) >= s.query.Nodes, s.steps > pathSteps, len(s.paths) >= s.query.Limit, s.ctx.Err() != nil:
		s.cut = true
		return
	}
	if s.endsReceived(sub) {
		s.foundAt(NodePath{Node: sub.Node, Subscription: sub})
		return
	}
	on := 0
	for _, n := range s.through[sub] {
		if s.useful == nil || s.leadsOn(n) {
			s.publish(n)
			on++
		}
	}
	if s.query.To == "" && on == 0 {
		s.foundAt(NodePath{Node: sub.Node, Subscription: sub})
	}
}

func (s *pathSearch) passed(sub *Subscription) bool {
	return slices.ContainsFunc(s.at, func(n NodePath) bool { return n.Subscription == sub })
}

func (s *pathSearch) foundAt(last NodePath) {
	s.at = append(s.at, last)
	s.found()
	s.at = s.at[:len(s.at)-1]
}

func (s *pathSearch) found() {
	if len(s.paths) >= s.query.Limit {
		s.cut = true
		return
	}
	s.paths = append(s.paths, &Path{Nodes: slices.Clone(s.at)})
}

// AddPaths adds the paths that are not among those that are there. Paths are the same if they lead through the same
// subscriptions and publishers.
func AddPaths(paths, more []*Path) []*Path {
	sameNode := func(a, b NodePath) bool { return a.Subscription == b.Subscription && a.Publisher == b.Publisher }
	for _, p := range more {
		if !slices.ContainsFunc(paths, func(there *Path) bool { return slices.EqualFunc(there.Nodes, p.Nodes, sameNode) }) {
			paths = append(paths, p)
		}
	}
	return paths
}
