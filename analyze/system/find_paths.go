package system

import (
	"fmt"
	"slices"
	"strings"
)

// FindPaths finds the paths that a text such as "[/talker]-[/chatter]-[/listener]" means: nodes and topics in turn, or
// a name that NamedPaths has. There are several where nodes share a name. It fails with ErrNoSuchName where the
// architecture has no such path.
func (a *Architecture) FindPaths(text string) ([]*Path, error) {
	for _, p := range a.NamedPaths {
		if p.Name == text {
			return []*Path{p}, nil
		}
	}
	names := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]"), "]-[")
	isNode := len(a.FindNodes(names[0])) > 0
	var paths []*Path
	var follow func(path []NodePath, i int)
	follow = func(path []NodePath, i int) {
		last := &path[len(path)-1]
		if i == len(names) {
			p := &Path{Nodes: slices.Clone(path)}
			p.setContexts()
			paths = append(paths, p)
			return
		}
		for _, publisher := range last.Node.Publishers {
			if publisher.TopicName != names[i] {
				continue
			}
			last.Publisher = publisher
			if i+1 == len(names) {
				follow(path, i+1)
			} else {
				for _, next := range a.FindNodes(names[i+1]) {
					for _, s := range next.Subscriptions {
						if s.TopicName == names[i] {
							follow(append(slices.Clone(path), NodePath{Node: next, Subscription: s}), i+2)
						}
					}
				}
			}
			last.Publisher = nil
		}
	}
	switch {
	case isNode:
		for _, n := range a.FindNodes(names[0]) {
			follow([]NodePath{{Node: n}}, 1)
		}
	case len(names) > 1:
		for _, n := range a.FindNodes(names[1]) {
			for _, s := range n.Subscriptions {
				if s.TopicName == names[0] {
					follow([]NodePath{{Node: n, Subscription: s}}, 2)
				}
			}
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: path %s; a path is [node]-[topic]-[node]", ErrNoSuchName, text)
	}
	return paths, nil
}

// UndefinedNodes is the number of nodes of the path that nobody said how messages get through.
func (p *Path) UndefinedNodes() int {
	return p.countNodes(func(c ContextType) bool { return c == ContextUndefined })
}

// InferredNodes is the number of nodes of the path of which it is only inferred how messages get through.
func (p *Path) InferredNodes() int { return p.countNodes(ContextType.IsInferred) }

func (p *Path) countNodes(with func(ContextType) bool) int {
	count := 0
	for _, n := range p.Nodes {
		if with(n.Context) {
			count++
		}
	}
	return count
}

func (p *Path) setContexts() {
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Subscription != nil && n.Publisher != nil {
			n.Context = n.Node.Context(n.Subscription, n.Publisher)
		}
	}
}
