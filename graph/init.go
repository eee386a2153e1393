package graph

import (
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The handlers of initialization events. An event may concern an entity whose own initialization was before the recording or
// was lost: then the entity is read from memory where that is possible, and begins with the event where it is not.

func (g *Graph) initNode(time int64, row trace.Node) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	if row.NodeName == "" || row.Namespace == "" {
		if read, err := g.nodeAt(row.NodeHandle); err == nil {
			row.NodeName, row.Namespace = read.NodeName, read.Namespace
		}
	}
	n := &node{life: life{time}}
	n.current = row
	g.failures.clear("node", row.NodeHandle)
	g.nodes.add(row.NodeHandle, n)
	g.changedNode(n)
}

func (g *Graph) initPublisher(time int64, row trace.Publisher) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	row.NodeName = g.nodeName(row.NodeHandle, time)
	if row.TopicName == "" {
		if read, err := g.publisherAt(row.PublisherHandle); err == nil {
			row.TopicName = read.TopicName
		}
	}
	p := &publisher{life: life{time}}
	p.current = row
	g.failures.clear("publisher", row.PublisherHandle)
	g.failures.clear("rmw publisher", row.RMWPublisherHandle)
	g.publishers.add(row.PublisherHandle, p)
	g.rmwPublishers.add(row.RMWPublisherHandle, p)
	g.changedPublisher(p)
}

func (g *Graph) initSubscription(time int64, row trace.Subscription) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	row.NodeName = g.nodeName(row.NodeHandle, time)
	if row.TopicName == "" {
		if read, err := g.subscriptionAt(row.SubscriptionHandle); err == nil {
			row.TopicName = read.TopicName
		}
	}
	s := &subscription{life: life{time}}
	s.current = row
	g.failures.clear("subscription", row.SubscriptionHandle)
	g.failures.clear("rmw subscription", row.RMWSubscriptionHandle)
	g.subscriptions.add(row.SubscriptionHandle, s)
	g.rmwSubscriptions.add(row.RMWSubscriptionHandle, s)
	g.changedSubscription(s)
}

// linkObject handles rclcpp_subscription_init.
func (g *Graph) linkObject(time int64, handle, address trace.Address) {
	s, ok := find(g, g.subscriptions, handle, time, "subscription", g.readSubscription)
	if !ok {
		s = &subscription{life: life{time}}
		s.current = trace.Subscription{
			ProcessKey: g.key, SubscriptionHandle: handle, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
		}
		g.subscriptions.add(handle, s)
	}
	o := g.objectAt(address, time, func(o *object) bool { return o.subscription == nil })
	o.subscription = s
	s.objects = append(s.objects, o)
	if len(s.objects) == 2 {
		// With intra-process communication rclcpp announces that object first.
		s.objects[0].setIntraProcess(true)
		s.objects[1].setIntraProcess(false)
		g.changedObject(s.objects[0])
	}
	g.changedObject(o)
}

// addObjectCallback handles rclcpp_subscription_callback_added.
func (g *Graph) addObjectCallback(time int64, address, callbackAddress trace.Address) {
	o := g.objectAt(address, time, func(o *object) bool { return o.callback == nil })
	o.callback = g.callbackAt(callbackAddress, time)
	if g.layout != nil {
		for _, owner := range g.layout.Owners {
			if callbackAddress != address+trace.Address(owner.Callback) {
				continue
			}
			switch owner.Kind {
			case layouts.OwnerSubscription:
				o.setIntraProcess(false)
			case layouts.OwnerSubscriptionIntraProcess:
				o.setIntraProcess(true)
			}
		}
	}
	if o.current.IsIntraProcess.Value {
		if ring, err := g.ringBufferOf(address); err == nil {
			o.current.Buffer = ring
		}
	}
	g.changedObject(o)
}

func (g *Graph) initTimer(time int64, row trace.Timer) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	t := &timer{life: life{time}}
	t.current = row
	g.failures.clear("timer", row.TimerHandle)
	g.timers.add(row.TimerHandle, t)
	g.changedTimer(t)
}

func (g *Graph) addTimerCallback(time int64, handle, callbackAddress trace.Address) {
	t := g.timerAt(handle, time)
	t.callback = g.callbackAt(callbackAddress, time)
	if t.callback.current.Symbol == "" {
		t.callback.current.Symbol = g.timerSymbol(callbackAddress)
	}
	g.changedTimer(t)
}

func (g *Graph) linkTimer(time int64, handle, nodeHandle trace.Address) {
	t := g.timerAt(handle, time)
	t.current.NodeHandle = nodeHandle
	t.current.NodeName = g.nodeName(nodeHandle, time)
	g.changedTimer(t)
}

func (g *Graph) initService(time int64, handle, nodeHandle, rmwHandle trace.Address, name string) {
	if name == "" {
		name, _ = g.serviceNameAt(rmwHandle)
	}
	g.failures.clear("service", handle)
	g.services.add(handle, &service{
		life: life{time}, handle: handle, nodeHandle: nodeHandle, name: name, nodeName: g.nodeName(nodeHandle, time),
	})
}

func (g *Graph) addServiceCallback(time int64, handle, callbackAddress trace.Address) {
	s, ok := find(g, g.services, handle, time, "service", g.readService)
	if !ok {
		s = &service{life: life{time}, handle: handle}
		g.services.add(handle, s)
	}
	s.callback = g.callbackAt(callbackAddress, time)
	s.inherit()
	g.changedCallback(s.callback)
}

// registerCallback handles rclcpp_callback_register.
func (g *Graph) registerCallback(time int64, address trace.Address, symbol string) {
	c, ok := g.callbacks.at(address, time)
	if !ok || c.since == always || time-c.since >= announcement {
		c = g.newCallback(address, time)
	}
	if told := symbolOf(symbol); told != "" {
		c.current.Symbol = told
	}
	g.changedCallback(c)
}

// announcement is the time, in nanoseconds, within which the events that announce one object follow each other.
const announcement = 10e9

// objectAt returns the object that is being announced at an address: the one that lives there if it is still fresh, else a new one.
func (g *Graph) objectAt(address trace.Address, time int64, fresh func(*object) bool) *object {
	if o, ok := g.objects.at(address, time); ok && fresh(o) && o.since != always && time-o.since < announcement {
		return o
	}
	o := &object{life: life{time}}
	o.current = trace.Subscription{
		ProcessKey: g.key, Subscription: address, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
	}
	g.objects.add(address, o)
	return o
}

// callbackAt begins the life of a callback that is being announced, unless rclcpp_callback_register just did.
func (g *Graph) callbackAt(address trace.Address, time int64) *callback {
	c, ok := g.callbacks.at(address, time)
	if ok && c.current.Kind == "" && c.current.OwnerHandle == 0 && time-c.since < announcement {
		return c
	}
	return g.newCallback(address, time)
}

func (g *Graph) newCallback(address trace.Address, time int64) *callback {
	c := &callback{life: life{time}}
	c.current = trace.CallbackInfo{
		ProcessKey: g.key, Callback: address, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
	}
	g.failures.clear("callback", address)
	g.callbacks.add(address, c)
	return c
}

// timerAt returns the timer that an event is about. One whose initialization was not seen is read from memory.
func (g *Graph) timerAt(handle trace.Address, time int64) *timer {
	t, ok := find(g, g.timers, handle, time, "timer", g.readTimer)
	if !ok {
		t = &timer{life: life{time}}
		t.current = trace.Timer{
			ProcessKey: g.key, TimerHandle: handle, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
		}
		g.timers.add(handle, t)
	}
	return t
}

// nodeName returns the full name of a node, "" if unknown.
func (g *Graph) nodeName(handle trace.Address, time int64) string {
	n, ok := find(g, g.nodes, handle, time, "node", g.readNode)
	if !ok {
		return ""
	}
	return n.fullName()
}

// setIntraProcess says which of the two kinds of object this is.
func (o *object) setIntraProcess(intra bool) { o.current.IsIntraProcess = trace.Some(intra) }
