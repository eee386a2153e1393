package entities

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The functions read... make entities of what a reader finds, when records name addresses that are not known yet.

// readLife is the life of what memory shows: it may have been there always, or since initialization events were lost.
func (g *Graph) readLife() life {
	l := life{since: always}
	if g.lostUntil != 0 {
		l.gapFrom, l.gapUntil = always, g.lostUntil+1
	}
	return l
}

func (g *Graph) readNode(handle trace.Address) (*node, error) {
	row, err := g.reader.nodeAt(handle)
	if err != nil {
		return nil, err
	}
	n := &node{life: g.readLife()}
	n.current = row
	n.current.ProcessKey = g.key
	g.nodes.add(handle, n)
	g.nodes.note(n)
	return n, nil
}

func (g *Graph) readPublisher(handle trace.Address) (*publisher, error) {
	row, err := g.reader.publisherAt(handle)
	if err != nil {
		return nil, err
	}
	p, ok := g.rmwPublishers.at(row.RMWPublisherHandle, now)
	if !ok || p.current.PublisherHandle != 0 {
		p = &publisher{life: g.readLife()}
		g.rmwPublishers.add(row.RMWPublisherHandle, p)
	}
	p.current = row
	p.current.ProcessKey = g.key
	g.publishers.add(handle, p)
	g.publishers.note(p)
	return p, nil
}

func (g *Graph) readRMWPublisher(handle trace.Address) (*publisher, error) {
	topic, err := g.reader.rmwTopicAt(handle, func(names layouts.RMWTopicName) uint64 { return names.Publisher })
	if err != nil {
		return nil, err
	}
	if err := g.checkEnds(); err != nil {
		return nil, err
	}
	p := &publisher{life: g.readLife()}
	p.current = trace.Publisher{ProcessKey: g.key, RMWPublisherHandle: handle, TopicName: topic, Provenance: trace.FromMemory}
	p.current.GID, _ = g.reader.publisherGIDAt(handle)
	g.rmwPublishers.add(handle, p)
	return p, nil // no row: the table has one for each rcl publisher
}

func (g *Graph) readSubscription(handle trace.Address) (*subscription, error) {
	row, err := g.reader.subscriptionAt(handle)
	if err != nil {
		return nil, err
	}
	s, ok := g.rmwSubscriptions.at(row.RMWSubscriptionHandle, now)
	if !ok || s.current.SubscriptionHandle != 0 {
		s = &subscription{life: g.readLife()}
		g.rmwSubscriptions.add(row.RMWSubscriptionHandle, s)
	}
	s.current = row
	s.current.ProcessKey = g.key
	g.subscriptions.add(handle, s)
	g.changedSubscription(s)
	return s, nil
}

func (g *Graph) readRMWSubscription(handle trace.Address) (*subscription, error) {
	topic, err := g.reader.rmwTopicAt(handle, func(names layouts.RMWTopicName) uint64 { return names.Subscription })
	if err != nil {
		return nil, err
	}
	if err := g.checkEnds(); err != nil {
		return nil, err
	}
	s := &subscription{life: g.readLife()}
	s.current = trace.Subscription{ProcessKey: g.key, RMWSubscriptionHandle: handle, TopicName: topic, Provenance: trace.FromMemory}
	g.rmwSubscriptions.add(handle, s)
	g.changedSubscription(s)
	return s, nil
}

// checkEnds is for who reads a publisher or a subscription by its handle of rmw: it may be any of which an end waits to
// be merged, and another one may be made at its address.
func (g *Graph) checkEnds() error {
	if g.unread != nil && g.unread(abi.AnyEndpoint) {
		return errOvertaken
	}
	return nil
}

func (g *Graph) readTimer(handle trace.Address) (*timer, error) {
	row, err := g.reader.timerAt(handle)
	if err != nil {
		return nil, err
	}
	t := &timer{life: g.readLife()}
	t.current = row
	t.current.ProcessKey = g.key
	g.timers.add(handle, t)
	g.changedTimer(t)
	return t, nil
}

func (g *Graph) readService(handle trace.Address) (*service, error) {
	row, err := g.reader.serviceAt(handle)
	if err != nil {
		return nil, err
	}
	s := &service{life: g.readLife()}
	s.current = row
	s.current.ProcessKey = g.key
	g.services.add(handle, s)
	g.changedService(s)
	return s, nil
}

func (g *Graph) readClient(handle trace.Address) (*client, error) {
	row, err := g.reader.clientAt(handle)
	if err != nil {
		return nil, err
	}
	c := &client{life: g.readLife()}
	c.current = row
	c.current.ProcessKey = g.key
	g.clients.add(handle, c)
	g.clients.note(c)
	return c, nil
}

// readCallback finds the rclcpp object that an address is the callback of.
func (g *Graph) readCallback(address trace.Address) (*callback, error) {
	layout, err := g.reader.readable()
	if err != nil {
		return nil, err
	}
	var owner layouts.Owner
	var ownerObject trace.Address
	var typeName string
	for _, candidate := range layout.Owners {
		at, name, ok := g.reader.ownerOf(address, candidate)
		if !ok {
			continue
		}
		if ownerObject != 0 {
			return nil, fmt.Errorf("both %v and %v could own it: %w", ownerObject, at, errImplausible)
		}
		owner, ownerObject, typeName = candidate, at, name
	}
	c := &callback{life: g.readLife()}
	c.current = trace.CallbackInfo{ProcessKey: g.key, Callback: address, Provenance: trace.FromMemory}
	switch owner.Kind {
	case layouts.OwnerTimer:
		err = g.readTimerOf(c, ownerObject, typeName)
	case layouts.OwnerSubscription:
		err = g.readSubscriptionOf(c, ownerObject, typeName)
	case layouts.OwnerSubscriptionIntraProcess:
		err = g.readIntraProcessOf(c, ownerObject, typeName)
	case layouts.OwnerService:
		err = g.readServiceOf(c, ownerObject, typeName)
	default:
		err = fmt.Errorf("no rclcpp object has its callback there: %w", errImplausible)
	}
	if err != nil {
		return nil, err
	}
	g.callbacks.add(address, c)
	return c, nil
}

// readTimerOf reads what an rclcpp::GenericTimer says of its callback.
func (g *Graph) readTimerOf(c *callback, object trace.Address, typeName string) error {
	handle, err := g.reader.pointer(object + trace.Address(g.reader.layout.TimerBase.TimerHandle))
	if err != nil {
		return err
	}
	t, err := obtain(g.timers.lives, handle, g.readTimer)
	if err != nil {
		return err
	}
	c.current.Symbol = g.reader.timerSymbol(c.current.Callback, typeName)
	c.since = t.since
	t.keep(c)
	g.changedTimer(t)
	return nil
}

// readSubscriptionOf reads what an rclcpp::Subscription says of its callback.
func (g *Graph) readSubscriptionOf(c *callback, address trace.Address, typeName string) error {
	layout := g.reader.layout.SubscriptionBase
	handle, err := g.reader.pointer(address + trace.Address(layout.SubscriptionHandle))
	if err != nil {
		return err
	}
	s, err := obtain(g.subscriptions.lives, handle, g.readSubscription)
	if err != nil {
		return err
	}
	nodeHandle, err := g.reader.pointer(address + trace.Address(layout.NodeHandle))
	if err == nil && s.current.NodeHandle == 0 {
		s.current.NodeHandle = nodeHandle
		s.current.NodeName = g.nodeName(nodeHandle, now)
	}
	fill(&s.current.MessageType, g.reader.messageTypeOf(typeName, address+trace.Address(layout.TypeSupport)))
	c.current.Symbol = g.reader.functionSymbol(c.current.Callback)
	c.since = s.since
	return g.showObject(s, address, c)
}

// showObject takes in that a subscription's callback is in an object, which may be known.
func (g *Graph) showObject(s *subscription, address trace.Address, c *callback) error {
	o, known := g.objects.at(address, now)
	switch {
	case !known:
		o = &object{life: life{since: s.since}}
		o.current = trace.Subscription{ProcessKey: g.key, Subscription: address, Provenance: trace.FromMemory}
		g.objects.add(address, o)
		s.serve(o)
	case o.subscription == nil:
		s.serve(o)
	case o.subscription != s:
		return fmt.Errorf("the object at %v serves another subscription: %w", address, errImplausible)
	}
	o.callback = c
	o.setIntraProcess(false)
	g.changedObject(o)
	return nil
}

// readIntraProcessOf reads what an rclcpp::experimental::SubscriptionIntraProcess says of its callback. Nothing in it
// leads to the rcl subscription or to the node.
func (g *Graph) readIntraProcessOf(c *callback, address trace.Address, typeName string) error {
	topic, err := g.reader.stdString(address+trace.Address(g.reader.layout.SubscriptionIntraProcess.TopicName), isTopic)
	if err != nil {
		return err
	}
	o, known := g.objects.at(address, now)
	if !known {
		o = &object{life: g.readLife()}
		o.current = trace.Subscription{ProcessKey: g.key, Subscription: address, TopicName: topic, Provenance: trace.FromMemory}
		g.objects.add(address, o)
		o.readBuffer(g.reader)
	}
	fill(&o.current.MessageType, messageType(typeName))
	o.setIntraProcess(true)
	o.callback = c
	c.since = o.since
	c.current.Symbol = g.reader.functionSymbol(c.current.Callback)
	g.changedObject(o)
	return nil
}

// readServiceOf reads what an rclcpp::Service says of its callback.
func (g *Graph) readServiceOf(c *callback, object trace.Address, typeName string) error {
	layout := g.reader.layout.ServiceBase
	handle, err := g.reader.pointer(object + trace.Address(layout.ServiceHandle))
	if err != nil {
		return err
	}
	s, err := obtain(g.services.lives, handle, g.readService)
	if err != nil {
		return err
	}
	g.nodeOfService(s, object)
	fill(&s.current.ServiceType, serviceType(typeName))
	c.current.Symbol = g.reader.functionSymbol(c.current.Callback)
	c.since = s.since
	s.callback = c
	g.changedService(s)
	return nil
}

// readBuffer completes an intra-process object with what memory says of its buffer.
func (o *object) readBuffer(r reader) {
	if found, err := r.intraProcessAt(o.current.Subscription); err == nil {
		o.setBuffer(found)
	}
}

func (o *object) setBuffer(found intraProcess) {
	o.current.Buffer, o.current.IPB, o.current.Capacity = found.ring, found.ipb, trace.Some(found.capacity)
}

// obtain returns the entity that lives at an address now, or reads it.
func obtain[E mortal](known lives[E], address trace.Address, read func(trace.Address) (E, error)) (E, error) {
	if entity, ok := known.at(address, now); ok {
		return entity, nil
	}
	return read(address)
}
