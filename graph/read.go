package graph

import (
	"fmt"
	"strings"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The readers find entities that were there before the recording. The functions named ...At follow pointers and judge; those
// named read... make an entity of what they found.

const (
	// maxDepth bounds a queue depth that is believed.
	maxDepth = 1 << 32
	// maxPeriod bounds a timer's period that is believed: a year, in nanoseconds.
	maxPeriod = 365 * 24 * 3600 * 1e9
)

func (g *Graph) readNode(handle trace.Address) (*node, error) {
	row, err := g.nodeAt(handle)
	if err != nil {
		return nil, err
	}
	n := &node{life: life{always}}
	n.current = row
	g.nodes.add(handle, n)
	g.changedNode(n)
	return n, nil
}

func (g *Graph) readPublisher(handle trace.Address) (*publisher, error) {
	row, err := g.publisherAt(handle)
	if err != nil {
		return nil, err
	}
	p, ok := g.rmwPublishers.at(row.RMWPublisherHandle, now)
	if !ok || p.current.PublisherHandle != 0 {
		p = &publisher{life: life{always}}
		g.rmwPublishers.add(row.RMWPublisherHandle, p)
	}
	p.current = row
	g.publishers.add(handle, p)
	g.changedPublisher(p)
	return p, nil
}

func (g *Graph) readRMWPublisher(handle trace.Address) (*publisher, error) {
	layout, err := g.readable()
	if err != nil {
		return nil, err
	}
	topic, err := g.rmwNameAt(handle, layout.RMWTopicName.Publisher, isTopic)
	if err != nil {
		return nil, err
	}
	p := &publisher{life: life{always}}
	p.current = trace.Publisher{ProcessKey: g.key, RMWPublisherHandle: handle, TopicName: topic, Provenance: trace.FromMemory}
	g.rmwPublishers.add(handle, p)
	return p, nil // no row: the table has one for each rcl publisher
}

func (g *Graph) readSubscription(handle trace.Address) (*subscription, error) {
	row, err := g.subscriptionAt(handle)
	if err != nil {
		return nil, err
	}
	s, ok := g.rmwSubscriptions.at(row.RMWSubscriptionHandle, now)
	if !ok || s.current.SubscriptionHandle != 0 {
		s = &subscription{life: life{always}}
		g.rmwSubscriptions.add(row.RMWSubscriptionHandle, s)
	}
	s.current = row
	g.subscriptions.add(handle, s)
	g.changedSubscription(s)
	return s, nil
}

func (g *Graph) readRMWSubscription(handle trace.Address) (*subscription, error) {
	layout, err := g.readable()
	if err != nil {
		return nil, err
	}
	topic, err := g.rmwNameAt(handle, layout.RMWTopicName.Subscription, isTopic)
	if err != nil {
		return nil, err
	}
	s := &subscription{life: life{always}}
	s.current = trace.Subscription{ProcessKey: g.key, RMWSubscriptionHandle: handle, TopicName: topic, Provenance: trace.FromMemory}
	g.rmwSubscriptions.add(handle, s)
	g.changedSubscription(s)
	return s, nil
}

func (g *Graph) readTimer(handle trace.Address) (*timer, error) {
	layout, err := g.readable()
	if err != nil {
		return nil, err
	}
	impl, err := g.view.pointer(handle + trace.Address(layout.Timer.Impl))
	if err != nil {
		return nil, err
	}
	if _, err := g.view.pointer(impl + trace.Address(layout.Timer.Context)); err != nil {
		return nil, err
	}
	period, err := g.view.word(impl + trace.Address(layout.Timer.Period))
	if err != nil {
		return nil, err
	}
	if period > maxPeriod { // 0 is one: the timer is always ready
		return nil, fmt.Errorf("%d ns is no period: %w", period, errImplausible)
	}
	t := &timer{life: life{always}}
	t.current = trace.Timer{
		ProcessKey: g.key, TimerHandle: handle, Period: trace.Some(int64(period)), Provenance: trace.FromMemory,
	}
	g.timers.add(handle, t)
	g.changedTimer(t)
	return t, nil
}

func (g *Graph) readService(handle trace.Address) (*service, error) {
	layout, err := g.readable()
	if err != nil {
		return nil, err
	}
	impl, err := g.view.pointer(handle + trace.Address(layout.Service.Impl))
	if err != nil {
		return nil, err
	}
	rmw, err := g.view.pointer(impl + trace.Address(layout.Service.RMWHandle))
	if err != nil {
		return nil, err
	}
	name, err := g.serviceNameAt(rmw)
	if err != nil {
		return nil, err
	}
	s := &service{life: life{always}, handle: handle, name: name}
	g.services.add(handle, s)
	return s, nil
}

// readCallback finds the rclcpp object that an address is the callback of.
func (g *Graph) readCallback(address trace.Address) (*callback, error) {
	layout, err := g.readable()
	if err != nil {
		return nil, err
	}
	var owner layouts.Owner
	var ownerObject trace.Address
	var typeName string
	for _, candidate := range layout.Owners {
		at, name, ok := g.ownerOf(address, candidate)
		if !ok {
			continue
		}
		if ownerObject != 0 {
			return nil, fmt.Errorf("both %v and %v could own it: %w", ownerObject, at, errImplausible)
		}
		owner, ownerObject, typeName = candidate, at, name
	}
	c := &callback{life: life{always}}
	c.current = trace.CallbackInfo{ProcessKey: g.key, Callback: address, Provenance: trace.FromMemory}
	switch owner.Kind {
	case layouts.OwnerTimer:
		err = g.readTimerOf(c, ownerObject, typeName)
	case layouts.OwnerSubscription:
		err = g.readSubscriptionOf(c, ownerObject)
	case layouts.OwnerSubscriptionIntraProcess:
		err = g.readIntraProcessOf(c, ownerObject)
	case layouts.OwnerService:
		err = g.readServiceOf(c, ownerObject)
	default:
		err = fmt.Errorf("no rclcpp object has its callback there: %w", errImplausible)
	}
	if err != nil {
		return nil, err
	}
	g.callbacks.add(address, c)
	return c, nil
}

// ownerOf returns the object of a class that a callback is a member of, and the mangled name of its very class.
func (g *Graph) ownerOf(callback trace.Address, owner layouts.Owner) (object trace.Address, typeName string, ok bool) {
	if uint64(callback) < owner.Callback {
		return 0, "", false
	}
	object = callback - trace.Address(owner.Callback)
	typeName, err := g.view.className(object)
	return object, typeName, err == nil && owner.Matches(typeName)
}

// timerSymbol returns the function that a timer's callback runs, "" if it cannot be read.
func (g *Graph) timerSymbol(callback trace.Address) string {
	layout, err := g.readable()
	if err != nil {
		return ""
	}
	for _, owner := range layout.Owners {
		if _, typeName, ok := g.ownerOf(callback, owner); ok && owner.Kind == layouts.OwnerTimer {
			return functorSymbol(typeName)
		}
	}
	return ""
}

// readTimerOf reads what an rclcpp::GenericTimer says of its callback.
func (g *Graph) readTimerOf(c *callback, object trace.Address, typeName string) error {
	handle, err := g.view.pointer(object + trace.Address(g.layout.TimerBase.TimerHandle))
	if err != nil {
		return err
	}
	t, err := obtain(g.timers, handle, g.readTimer)
	if err != nil {
		return err
	}
	c.current.Symbol = functorSymbol(typeName)
	c.since = t.since
	t.callback = c
	g.changedTimer(t)
	return nil
}

// readSubscriptionOf reads what an rclcpp::Subscription says of its callback.
func (g *Graph) readSubscriptionOf(c *callback, address trace.Address) error {
	handle, err := g.view.pointer(address + trace.Address(g.layout.SubscriptionBase.SubscriptionHandle))
	if err != nil {
		return err
	}
	s, err := obtain(g.subscriptions, handle, g.readSubscription)
	if err != nil {
		return err
	}
	nodeHandle, err := g.view.pointer(address + trace.Address(g.layout.SubscriptionBase.NodeHandle))
	if err == nil && s.current.NodeHandle == 0 {
		s.current.NodeHandle = nodeHandle
		s.current.NodeName = g.nodeName(nodeHandle, now)
	}
	c.since = s.since
	o := &object{life: life{s.since}, subscription: s, callback: c}
	o.current = trace.Subscription{ProcessKey: g.key, Subscription: address, Provenance: trace.FromMemory}
	o.setIntraProcess(false)
	s.objects = append(s.objects, o)
	g.objects.add(address, o)
	g.changedObject(o)
	return nil
}

// readIntraProcessOf reads what an rclcpp::experimental::SubscriptionIntraProcess says of its callback. Nothing in it leads to
// the rcl subscription or to the node.
func (g *Graph) readIntraProcessOf(c *callback, address trace.Address) error {
	topic, err := g.view.stdString(address+trace.Address(g.layout.SubscriptionIntraProcess.TopicName), isTopic)
	if err != nil {
		return err
	}
	o := &object{life: life{always}, callback: c}
	o.current = trace.Subscription{ProcessKey: g.key, Subscription: address, TopicName: topic, Provenance: trace.FromMemory}
	o.setIntraProcess(true)
	if ring, err := g.ringBufferOf(address); err == nil {
		o.current.Buffer = ring
	}
	g.objects.add(address, o)
	g.changedObject(o)
	return nil
}

// readServiceOf reads what an rclcpp::Service says of its callback.
func (g *Graph) readServiceOf(c *callback, object trace.Address) error {
	handle, err := g.view.pointer(object + trace.Address(g.layout.ServiceBase.ServiceHandle))
	if err != nil {
		return err
	}
	s, err := obtain(g.services, handle, g.readService)
	if err != nil {
		return err
	}
	nodeHandle, err := g.view.pointer(object + trace.Address(g.layout.ServiceBase.NodeHandle))
	if err == nil && s.nodeHandle == 0 {
		s.nodeHandle = nodeHandle
		s.nodeName = g.nodeName(nodeHandle, now)
	}
	c.since = s.since
	s.callback = c
	s.inherit()
	g.changedCallback(c)
	return nil
}

// obtain returns the entity that lives at an address now, or reads it.
func obtain[E mortal](known lives[E], address trace.Address, read func(trace.Address) (E, error)) (E, error) {
	if entity, ok := known.at(address, now); ok {
		return entity, nil
	}
	return read(address)
}

func (g *Graph) nodeAt(handle trace.Address) (trace.Node, error) {
	layout, err := g.readable()
	if err != nil {
		return trace.Node{}, err
	}
	impl, err := g.view.pointer(handle + trace.Address(layout.Node.Impl))
	if err != nil {
		return trace.Node{}, err
	}
	rmw, err := g.view.pointer(impl + trace.Address(layout.Node.RMWHandle))
	if err != nil {
		return trace.Node{}, err
	}
	name, err := g.rmwNameAt(rmw, layout.RMWNode.Name, isBaseName)
	if err != nil {
		return trace.Node{}, err
	}
	namespace, err := g.rmwNameAt(rmw, layout.RMWNode.Namespace, isName)
	if err != nil {
		return trace.Node{}, err
	}
	return trace.Node{
		ProcessKey: g.key, NodeHandle: handle, RMWHandle: rmw, NodeName: name, Namespace: namespace, Provenance: trace.FromMemory,
	}, nil
}

func (g *Graph) publisherAt(handle trace.Address) (trace.Publisher, error) {
	layout, err := g.readable()
	if err != nil {
		return trace.Publisher{}, err
	}
	rmw, depth, err := g.endpointAt(handle, layout.Publisher)
	if err != nil {
		return trace.Publisher{}, err
	}
	topic, err := g.rmwNameAt(rmw, layout.RMWTopicName.Publisher, isTopic)
	if err != nil {
		return trace.Publisher{}, err
	}
	return trace.Publisher{
		ProcessKey: g.key, PublisherHandle: handle, RMWPublisherHandle: rmw, TopicName: topic, QueueDepth: trace.Some(depth),
		Provenance: trace.FromMemory,
	}, nil
}

func (g *Graph) subscriptionAt(handle trace.Address) (trace.Subscription, error) {
	layout, err := g.readable()
	if err != nil {
		return trace.Subscription{}, err
	}
	rmw, depth, err := g.endpointAt(handle, layout.Subscription)
	if err != nil {
		return trace.Subscription{}, err
	}
	topic, err := g.rmwNameAt(rmw, layout.RMWTopicName.Subscription, isTopic)
	if err != nil {
		return trace.Subscription{}, err
	}
	return trace.Subscription{
		ProcessKey: g.key, SubscriptionHandle: handle, RMWSubscriptionHandle: rmw, TopicName: topic, QueueDepth: trace.Some(depth),
		Provenance: trace.FromMemory,
	}, nil
}

// endpointAt follows an rcl publisher or subscription to its rmw object and its queue depth.
func (g *Graph) endpointAt(handle trace.Address, layout layouts.Endpoint) (rmw trace.Address, depth uint64, err error) {
	impl, err := g.view.pointer(handle + trace.Address(layout.Impl))
	if err != nil {
		return 0, 0, err
	}
	rmw, err = g.view.pointer(impl + trace.Address(layout.RMWHandle))
	if err != nil {
		return 0, 0, err
	}
	depth, err = g.view.word(impl + trace.Address(layout.Depth))
	if err != nil {
		return 0, 0, err
	}
	if depth > maxDepth {
		return 0, 0, fmt.Errorf("%d is no queue depth: %w", depth, errImplausible)
	}
	return rmw, depth, nil
}

func (g *Graph) serviceNameAt(rmw trace.Address) (string, error) {
	layout, err := g.readable()
	if err != nil {
		return "", err
	}
	return g.rmwNameAt(rmw, layout.RMWTopicName.Service, isTopic)
}

// rmwNameAt reads a name of an rmw object, which begins with the identifier of its implementation.
func (g *Graph) rmwNameAt(rmw trace.Address, offset uint64, valid func(string) bool) (string, error) {
	if _, err := g.view.namePointer(rmw, isIdentifier); err != nil {
		return "", fmt.Errorf("no rmw object: %w", err)
	}
	return g.view.namePointer(rmw+trace.Address(offset), valid)
}

// ringBufferOf returns the ring buffer of an intra-process subscription, as rclcpp_ring_buffer_dequeue names it.
func (g *Graph) ringBufferOf(object trace.Address) (trace.Address, error) {
	layout, err := g.readable()
	if err != nil {
		return 0, err
	}
	buffer, err := g.view.pointer(object + trace.Address(layout.SubscriptionIntraProcess.Buffer))
	if err != nil {
		return 0, err
	}
	ring, err := g.view.pointer(buffer + trace.Address(layout.SubscriptionIntraProcess.Ring))
	if err != nil {
		return 0, err
	}
	name, err := g.view.className(ring)
	if err != nil {
		return 0, err
	}
	if !strings.HasPrefix(name, layouts.RingBufferTypeName) {
		return 0, fmt.Errorf("%v is no ring buffer: %w", ring, errImplausible)
	}
	return ring, nil
}

// readable returns the layout to read the process's memory with.
func (g *Graph) readable() (*layouts.Layout, error) {
	if g.view.memory == nil {
		return nil, errNoMemory
	}
	return g.layout, nil
}
