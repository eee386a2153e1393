package main

import (
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// standardEntities are those entities of a node that every node has.
type standardEntities struct {
	publishers    []livePublisher
	subscriptions []liveSubscription
	services      []liveService
}

func (s *standardEntities) count() standardCount {
	return standardCount{services: len(s.services), publishers: len(s.publishers), subscriptions: len(s.subscriptions)}
}

// foldStandard returns the processes with what every node has set apart.
func foldStandard(processes []liveProcess) []liveProcess {
	folded := make([]liveProcess, 0, len(processes))
	for _, p := range processes {
		nodes := make([]*liveNode, 0, len(p.Nodes))
		for _, n := range p.Nodes {
			nodes = append(nodes, n.fold())
		}
		p.Nodes = nodes
		folded = append(folded, p)
	}
	return folded
}

// fold returns the node with what every node has set apart.
func (n *liveNode) fold() *liveNode {
	endpoints := make([]system.Endpoint, 0, len(n.Publishers)+len(n.Subscriptions)+len(n.Services))
	for _, p := range n.Publishers {
		endpoints = append(endpoints, system.Endpoint{Kind: system.PublisherEndpoint, Name: p.Topic, Type: p.Type})
	}
	for _, s := range n.Subscriptions {
		endpoints = append(endpoints, system.Endpoint{Kind: system.SubscriptionEndpoint, Name: s.Topic, Type: s.Type, Symbol: s.Symbol})
	}
	for _, s := range n.Services {
		endpoints = append(endpoints, system.Endpoint{Kind: system.ServiceEndpoint, Name: s.Name, Type: s.Type, Symbol: s.Symbol})
	}
	standard := system.StandardEndpoints(n.Name, endpoints)
	isStandard := func(i int) bool { return standard[i] }
	folded := *n
	folded.Publishers, folded.standard.publishers = setApart(n.Publishers, isStandard)
	standard = standard[len(n.Publishers):]
	folded.Subscriptions, folded.standard.subscriptions = setApart(n.Subscriptions, isStandard)
	standard = standard[len(n.Subscriptions):]
	folded.Services, folded.standard.services = setApart(n.Services, isStandard)
	return &folded
}
