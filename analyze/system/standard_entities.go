package system

import (
	"slices"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Standard is the set of the entities that every node has (StandardEndpoints), and that every process's middleware has,
// of an architecture. The zero value is the empty set.
type Standard struct {
	publishers    map[*Publisher]bool
	subscriptions map[*Subscription]bool
	services      map[*Service]bool
	callbacks     map[*Callback]bool
	topics        map[string]bool
}

// Standard returns what every node has. A callback that was seen to do more than every node's does is its node's own,
// and so is what it belongs to: it publishes with a publisher that is not standard, takes messages by itself, or passes
// a variable. Where an Architecture lacks what callbacks did (LoadEntities), only names tell.
func (a *Architecture) Standard() *Standard {
	s := &Standard{
		publishers: make(map[*Publisher]bool), subscriptions: make(map[*Subscription]bool), services: make(map[*Service]bool),
		callbacks: make(map[*Callback]bool), topics: make(map[string]bool),
	}
	for _, n := range a.Nodes {
		s.addNode(n)
	}
	for _, n := range a.Nodes { // a topic that is somebody's own, too, is not standard
		for _, p := range n.Publishers {
			if !s.publishers[p] {
				delete(s.topics, p.TopicName)
			}
		}
		for _, sub := range n.Subscriptions {
			if !s.subscriptions[sub] {
				delete(s.topics, sub.TopicName)
			}
		}
	}
	return s
}

func (s *Standard) addNode(n *Node) {
	if n.Name == "" {
		s.addMiddleware(n)
		return
	}
	endpoints := make([]Endpoint, 0, len(n.Publishers)+len(n.Subscriptions)+len(n.Services))
	for _, p := range n.Publishers {
		endpoints = append(endpoints, Endpoint{Kind: PublisherEndpoint, Name: p.TopicName, Type: p.MessageType})
	}
	for _, sub := range n.Subscriptions {
		endpoints = append(endpoints, Endpoint{Kind: SubscriptionEndpoint, Name: sub.TopicName, Type: sub.MessageType, Symbol: symbolOf(sub.Callback)})
	}
	for _, service := range n.Services {
		endpoints = append(endpoints, Endpoint{Kind: ServiceEndpoint, Name: service.ServiceName, Type: service.ServiceType, Symbol: symbolOf(service.Callback)})
	}
	standard := StandardEndpoints(n.Name, endpoints)
	for i, p := range n.Publishers {
		if standard[i] {
			s.publishers[p], s.topics[p.TopicName] = true, true
		}
	}
	passing := make(map[*Callback]bool)
	for _, v := range n.VariablePassings {
		passing[v.Write], passing[v.Read] = true, true
	}
	standard = standard[len(n.Publishers):]
	for i, sub := range n.Subscriptions {
		if standard[i] && len(sub.PolledBy) == 0 && s.doesNothingElse(sub.Callback, passing) {
			s.subscriptions[sub], s.topics[sub.TopicName] = true, true
		}
	}
	standard = standard[len(n.Subscriptions):]
	for i, service := range n.Services {
		if standard[i] && s.doesNothingElse(service.Callback, passing) {
			s.services[service] = true
		}
	}
}

// addMiddleware adds the subscription by which the middleware of a process learns of others' nodes. It is no node's.
func (s *Standard) addMiddleware(without *Node) {
	for _, sub := range without.Subscriptions {
		if sub.TopicName == trace.DiscoveryTopic && sub.Callback == nil && len(sub.PolledBy) == 0 {
			s.subscriptions[sub], s.topics[sub.TopicName] = true, true
		}
	}
}

func symbolOf(c *Callback) string {
	if c == nil {
		return ""
	}
	return c.Symbol
}

// doesNothingElse adds a callback unless it was seen to do what not every node's does. It needs the publishers of the
// node.
func (s *Standard) doesNothingElse(c *Callback, passing map[*Callback]bool) bool {
	if c == nil {
		return true
	}
	ownPublish := func(p CallbackPublish) bool { return !s.publishers[p.Publisher] }
	if len(c.Polls) > 0 || passing[c] || slices.ContainsFunc(c.Publishes, ownPublish) {
		return false
	}
	s.callbacks[c] = true
	return true
}

// Publisher reports whether every node has such a publisher.
func (s *Standard) Publisher(p *Publisher) bool { return s.publishers[p] }

// Subscription reports whether every node has such a subscription.
func (s *Standard) Subscription(sub *Subscription) bool { return s.subscriptions[sub] }

// Service reports whether every node has such a service.
func (s *Standard) Service(service *Service) bool { return s.services[service] }

// Callback reports whether it is that of a subscription or a service that every node has.
func (s *Standard) Callback(c *Callback) bool { return s.callbacks[c] }

// Communication reports whether one of the ends of a communication is what every node has.
func (s *Standard) Communication(p *Publisher, sub *Subscription) bool {
	return s.publishers[p] || s.subscriptions[sub]
}

// Topic reports whether the topic of that name has no publishers and subscriptions but those that every node has.
func (s *Standard) Topic(name string) bool { return s.topics[name] }
