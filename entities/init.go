package entities

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// The handlers of initialization events. An event may concern an entity whose own initialization was before the
// recording or was lost: then the entity is read from memory where that is possible, and begins with the event where it
// is not.

func (g *Graph) initContext(time int64, handle trace.Address) {
	c := &rclContext{life: life{since: time}}
	c.current = trace.Context{
		ProcessKey: g.key, ContextHandle: handle, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
	}
	g.contexts.add(handle, c)
	g.contexts.note(c)
}

func (g *Graph) initNode(time int64, row trace.Node) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	if row.NodeName == "" || row.Namespace == "" {
		if read, err := g.reader.nodeAt(row.NodeHandle); err == nil {
			row.NodeName, row.Namespace = read.NodeName, read.Namespace
		}
	}
	g.failures.clear("node", row.NodeHandle)
	if n, ok := g.nodes.at(row.NodeHandle, time); ok && n.wasReadEarly(&row) {
		n.current = row
		g.nodes.note(n)
		g.awaitScan(time)
		return
	}
	n := &node{life: life{since: time}}
	n.current = row
	g.nameEarlierPublisher(n)
	g.nodes.add(row.NodeHandle, n)
	g.nodes.note(n)
	g.awaitScan(time)
}

// nameEarlierPublisher gives a node that is being announced to the publisher that was announced before it, as that of
// /rosout is on Humble: it lives, and so does the node that has it.
func (g *Graph) nameEarlierPublisher(n *node) {
	handle := n.current.NodeHandle
	p := g.nameless[handle]
	delete(g.nameless, handle)
	if p == nil || p.current.NodeName != "" || p.ended || p.doubtful {
		return
	}
	if _, known := g.nodes.at(handle, p.since); !known {
		p.current.NodeName = n.fullName()
		g.publishers.note(p)
	}
}

// wasReadEarly reports whether a node that memory showed is the one that is being announced: on Humble the publisher of
// /rosout, which names the node, is initialized before it.
func (n *node) wasReadEarly(announced *trace.Node) bool {
	return n.since == always && n.current.Provenance == trace.FromMemory && n.current.RMWHandle == announced.RMWHandle &&
		n.current.NodeName == announced.NodeName && n.current.Namespace == announced.Namespace
}

// maxGIDs bounds the gids that were announced and whose publishers were not.
const maxGIDs = 1 << 12

// announcedGID is what rmw_publisher_init said. rcl_publisher_init follows it.
type announcedGID struct {
	time int64
	gid  string
}

// announceGID handles rmw_publisher_init.
func (g *Graph) announceGID(time int64, rmwHandle trace.Address, text string) {
	gid := gidText(text)
	if gid == "" {
		return
	}
	if len(g.gids) >= maxGIDs {
		clear(g.gids)
	}
	g.gids[rmwHandle] = announcedGID{time, gid}
}

// initPublisher handles rcl_publisher_init. instance is the publisher's instance handle with Cyclone DDS, 0 if it was
// not told.
func (g *Graph) initPublisher(time int64, row trace.Publisher, instance uint64) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	row.NodeName = g.nodeName(row.NodeHandle, time)
	if announced, ok := g.gids[row.RMWPublisherHandle]; ok {
		if time-announced.time < announcement {
			row.GID = announced.gid
		}
		delete(g.gids, row.RMWPublisherHandle)
	}
	p := &publisher{life: life{since: time}}
	p.current = row
	if instance != 0 {
		p.instance = hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, instance))
	}
	if row.TopicName == "" || row.GID == "" {
		if read, err := g.reader.publisherAt(row.PublisherHandle); err == nil {
			takeRead(g, &p.life, &p.current.TopicName, read.TopicName)
			takeRead(g, &p.life, &p.current.GID, read.GID)
		}
	}
	if p.current.TopicName == rosoutTopic {
		p.announced, p.current.PublisherHandle = row.PublisherHandle, 0
		if len(g.nameless) >= maxGIDs {
			clear(g.nameless)
		}
		g.nameless[row.NodeHandle] = p
	}
	g.failures.clear("publisher", p.current.PublisherHandle)
	g.failures.clear("rmw publisher", row.RMWPublisherHandle)
	g.publishers.add(p.current.PublisherHandle, p)
	g.rmwPublishers.add(row.RMWPublisherHandle, p)
	g.publishers.note(p)
	g.awaitScan(time)
}

// addPublisher handles rclcpp's registration of a publisher with its node, by which its object is known.
func (g *Graph) addPublisher(time int64, handle, object trace.Address) {
	p, ok := find(g, g.publishers.lives, handle, time, "publisher", g.readPublisher)
	if !ok || p.current.MessageType != "" {
		return
	}
	if typeName, err := g.reader.className(object); err == nil {
		takeRead(g, &p.life, &p.current.MessageType, messageType(typeName))
		g.knowType(&p.typed, KnownType{Address: handle, MessageType: p.current.MessageType})
		g.publishers.note(p)
	}
}

func (g *Graph) initSubscription(time int64, row trace.Subscription) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	row.NodeName = g.nodeName(row.NodeHandle, time)
	s := &subscription{life: life{since: time}}
	s.current = row
	if row.TopicName == "" {
		if read, err := g.reader.subscriptionAt(row.SubscriptionHandle); err == nil {
			takeRead(g, &s.life, &s.current.TopicName, read.TopicName)
		}
	}
	g.failures.clear("subscription", row.SubscriptionHandle)
	g.failures.clear("rmw subscription", row.RMWSubscriptionHandle)
	g.subscriptions.add(row.SubscriptionHandle, s)
	g.rmwSubscriptions.add(row.RMWSubscriptionHandle, s)
	g.changedSubscription(s)
	g.awaitScan(time)
}

// linkObject handles rclcpp_subscription_init.
func (g *Graph) linkObject(time int64, handle, address trace.Address) {
	s, ok := find(g, g.subscriptions.lives, handle, time, "subscription", g.readSubscription)
	if !ok {
		s = &subscription{life: life{since: time}}
		s.current = trace.Subscription{
			ProcessKey: g.key, SubscriptionHandle: handle, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
		}
		g.subscriptions.add(handle, s)
	}
	o := g.objectAt(address, time, func(o *object) bool { return o.subscription == nil })
	s.serve(o)
	o.announced = true
	if typeName, err := g.reader.className(address); err == nil {
		takeRead(g, &s.life, &s.current.MessageType, messageType(typeName))
		takeRead(g, &o.life, &o.current.MessageType, messageType(typeName))
		g.knowType(&s.typed, KnownType{Address: s.current.RMWSubscriptionHandle, MessageType: s.current.MessageType})
	}
	if pair := s.announcedObjects(); len(pair) == 2 {
		// With intra-process communication rclcpp announces that object first.
		pair[0].setIntraProcess(true)
		pair[1].setIntraProcess(false)
		g.changedObject(pair[0])
	}
	g.changedObject(o)
}

// addObjectCallback handles rclcpp_subscription_callback_added. announced is the ring buffer of the object, if it is an
// intra-process one and the event tells.
func (g *Graph) addObjectCallback(time int64, address, callbackAddress trace.Address, announced intraProcess) {
	o := g.objectAt(address, time, func(o *object) bool { return o.callback == nil })
	o.callback, o.buffer = g.callbackAt(callbackAddress, time), announced
	typeName, err := g.reader.className(address)
	if err == nil && strings.HasPrefix(typeName, intraProcessName) { // with an allocator of the user's own, its place does not tell
		o.setIntraProcess(true)
	} else if layout := g.reader.layout; layout != nil {
		for _, owner := range layout.Owners {
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
	if o.current.IsIntraProcess.Value && o.current.Buffer == 0 {
		o.readBuffer(g.reader)
	}
	if err == nil {
		takeRead(g, &o.life, &o.current.MessageType, messageType(typeName))
	}
	takeRead(g, &o.callback.life, &o.callback.current.Symbol, g.reader.functionSymbol(callbackAddress))
	g.changedObject(o)
}

func (g *Graph) initTimer(time int64, row trace.Timer) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	t := &timer{life: life{since: time}}
	t.current = row
	g.failures.clear("timer", row.TimerHandle)
	g.timers.add(row.TimerHandle, t)
	g.changedTimer(t)
	g.awaitScan(time)
}

func (g *Graph) addTimerCallback(time int64, handle, callbackAddress trace.Address) {
	t := g.timerAt(handle, time)
	sharers := g.sharers(callbackAddress, time, t)
	t.keep(g.callbackAt(callbackAddress, time))
	for _, sharer := range sharers {
		sharer.keep(t.callback)
	}
	if typeName, ok := g.timerClass(callbackAddress); ok {
		takeRead(g, &t.callback.life, &t.callback.current.Symbol, g.reader.timerSymbol(callbackAddress, typeName))
	}
	g.changedTimer(t)
}

func (g *Graph) linkTimer(time int64, handle, nodeHandle trace.Address) {
	t := g.timerAt(handle, time)
	t.current.NodeHandle = nodeHandle
	t.current.NodeName = g.nodeName(nodeHandle, time)
	if t.current.CallbackGroup != 0 {
		g.groupOf(time, t.current.CallbackGroup, "", nodeHandle)
	}
	g.changedTimer(t)
}

// timerClass returns the mangled name of the class of the timer that a callback belongs to.
func (g *Graph) timerClass(callback trace.Address) (string, bool) {
	layout, err := g.reader.readable()
	if err != nil {
		return "", false
	}
	for _, owner := range layout.Owners {
		if _, typeName, ok := g.reader.ownerOf(callback, owner); ok && owner.Kind == layouts.OwnerTimer {
			return typeName, true
		}
	}
	return "", false
}

// initService handles rcl_service_init. implementation is the name of the implementation of rmw, "" if it was not told.
func (g *Graph) initService(time int64, row trace.ServiceServer, impl trace.Address, implementation string) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	row.NodeName = g.nodeName(row.NodeHandle, time)
	g.noteImplementation(implementation, row.RMWServiceHandle)
	s := &service{life: life{since: time}, impl: impl}
	s.current = row
	if row.ServiceName == "" {
		name, _ := g.reader.rmwTopicAt(row.RMWServiceHandle, func(names layouts.RMWTopicName) uint64 { return names.Service })
		takeRead(g, &s.life, &s.current.ServiceName, name)
	}
	g.failures.clear("service", row.ServiceHandle)
	g.services.add(row.ServiceHandle, s)
	g.changedService(s)
	g.awaitScan(time)
}

// addServiceCallback handles rclcpp_service_callback_added.
func (g *Graph) addServiceCallback(time int64, handle, callbackAddress, impl trace.Address) {
	if _, known := g.services.at(handle, time); !known && impl != 0 {
		g.adoptService(handle, func(s *service) bool { return s.impl == impl && s.since <= time })
	}
	s := g.serviceAt(handle, time)
	s.callback = g.callbackAt(callbackAddress, time)
	if layout, err := g.reader.readable(); err == nil {
		for _, owner := range layout.Owners {
			if object, typeName, ok := g.reader.ownerOf(callbackAddress, owner); ok && owner.Kind == layouts.OwnerService {
				takeRead(g, &s.life, &s.current.ServiceType, serviceType(typeName))
				g.nodeOfService(s, object)
			}
		}
	}
	takeRead(g, &s.callback.life, &s.callback.current.Symbol, g.reader.functionSymbol(callbackAddress))
	g.changedService(s)
}

// nodeOfService reads the node of a service whose handle is a copy of the one that rcl_service_init announced.
func (g *Graph) nodeOfService(s *service, object trace.Address) {
	if s.current.NodeHandle != 0 {
		return
	}
	handle, err := g.reader.pointer(object + trace.Address(g.reader.layout.ServiceBase.NodeHandle))
	if err != nil {
		return
	}
	s.current.NodeHandle = handle
	s.current.NodeName = g.nodeName(handle, now)
}

func (g *Graph) initClient(time int64, row trace.Client) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	row.NodeName = g.nodeName(row.NodeHandle, time)
	g.noteImplementation(implementationOf(row.GID), row.RMWClientHandle)
	c := &client{life: life{since: time}}
	c.current = row
	if row.ServiceName == "" {
		// By now another client may have the address, even with an rmw client at the same one.
		if read, err := g.reader.clientAt(row.ClientHandle); err == nil && read.RMWClientHandle == row.RMWClientHandle {
			takeRead(g, &c.life, &c.current.ServiceName, read.ServiceName)
		}
	}
	g.failures.clear("client", row.ClientHandle)
	g.clients.add(row.ClientHandle, c)
	g.clients.note(c)
	g.awaitScan(time)
}

func (g *Graph) initStateMachine(time int64, row trace.LifecycleStateMachine) {
	row.ProcessKey, row.InitTimestamp, row.Provenance = g.key, trace.Some(time), trace.FromTracepoint
	row.NodeName = g.nodeName(row.NodeHandle, time)
	m := &stateMachine{life: life{since: time}}
	m.current = row
	g.stateMachines.add(row.StateMachine, m)
	if row.StateMachine != 0 {
		g.stateMachines.note(m)
	}
}

// initBuffer handles rclcpp_construct_ring_buffer.
func (g *Graph) initBuffer(time int64, address trace.Address, capacity uint64) {
	g.buffers.add(address, &buffer{life: life{since: time}, address: address, capacity: capacity})
}

// linkBuffer handles rclcpp_buffer_to_ipb.
func (g *Graph) linkBuffer(time int64, address, ipb trace.Address) {
	b, ok := g.buffers.at(address, time)
	if !ok {
		b = &buffer{life: life{since: time}, address: address}
	}
	g.intraProcessBuffers.add(ipb, &intraProcessBuffer{life: life{since: time}, buffer: b})
}

// linkIntraProcessBuffer handles rclcpp_ipb_to_subscription, the first event of an intra-process object.
func (g *Graph) linkIntraProcessBuffer(time int64, ipb, address trace.Address) {
	if address == 0 {
		return
	}
	o := g.objectAt(address, time, func(o *object) bool { return o.current.IPB == 0 })
	o.setIntraProcess(true)
	o.current.IPB = ipb
	if held, ok := g.intraProcessBuffers.at(ipb, time); ok {
		o.current.Buffer = held.buffer.address
		if held.buffer.capacity != 0 {
			o.current.Capacity = trace.Some(held.buffer.capacity)
		}
	}
	g.changedObject(o)
}

// registerCallback handles rclcpp_callback_register.
func (g *Graph) registerCallback(time int64, address trace.Address, symbol string) {
	c, ok := g.callbacks.at(address, time)
	if !ok || c.since == always || time-c.since >= announcement {
		c = g.newCallback(address, time)
	}
	if told := symbolOf(symbol); told != "" {
		c.current.Symbol = told
		c.late = lateRead{} // that is the event's own
	}
	g.callbacks.note(c)
}

// announcement is the time, in nanoseconds, within which the events that announce one object follow each other.
const announcement = 10e9

// objectAt returns the object that is being announced at an address: the one that lives there if it is still fresh,
// else a new one.
func (g *Graph) objectAt(address trace.Address, time int64, fresh func(*object) bool) *object {
	if o, ok := g.objects.at(address, time); ok && fresh(o) && o.since != always && time-o.since < announcement {
		return o
	}
	o := &object{life: life{since: time}}
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
	c := &callback{life: life{since: time}}
	c.current = trace.CallbackInfo{
		ProcessKey: g.key, Callback: address, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
	}
	g.failures.clear("callback", address)
	g.callbacks.add(address, c)
	return c
}

// timerAt returns the timer that an event is about. One whose initialization was not seen is read from memory.
func (g *Graph) timerAt(handle trace.Address, time int64) *timer {
	t, ok := find(g, g.timers.lives, handle, time, "timer", g.readTimer)
	if !ok {
		t = &timer{life: life{since: time}}
		t.current = trace.Timer{
			ProcessKey: g.key, TimerHandle: handle, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
		}
		g.timers.add(handle, t)
	}
	return t
}

// serviceAt returns the service that an event is about. One whose initialization was not seen is read from memory.
func (g *Graph) serviceAt(handle trace.Address, time int64) *service {
	s, ok := find(g, g.services.lives, handle, time, "service", g.readService)
	if !ok {
		s = &service{life: life{since: time}}
		s.current = trace.ServiceServer{
			ProcessKey: g.key, ServiceHandle: handle, InitTimestamp: trace.Some(time), Provenance: trace.FromTracepoint,
		}
		g.services.add(handle, s)
	}
	return s
}

// adoptService looks for the service that rcl made for itself and that rclcpp serves through a copy of its handle, as
// managed nodes have them, and gives it the copy's address: that is the one all later events name. rcl's own remains
// known, too: the end of the service names it.
func (g *Graph) adoptService(handle trace.Address, same func(*service) bool) (*service, bool) {
	for _, services := range g.services.lives {
		s := services[len(services)-1]
		if s.callback == nil && !s.ended && s.current.Provenance == trace.FromTracepoint && same(s) {
			s.current.ServiceHandle = handle
			g.services.add(handle, s)
			return s, true
		}
	}
	return nil, false
}

// nodeName returns the full name of a node, "" if unknown.
func (g *Graph) nodeName(handle trace.Address, time int64) string {
	n, ok := find(g, g.nodes.lives, handle, time, "node", g.readNode)
	if !ok {
		return ""
	}
	return n.fullName()
}

// setIntraProcess says which of the two kinds of object this is. That may be learned later than what its initialization
// said of its buffer.
func (o *object) setIntraProcess(intra bool) {
	o.current.IsIntraProcess = trace.Some(intra)
	if intra && o.current.Buffer == 0 && o.buffer.ring != 0 {
		o.setBuffer(o.buffer)
	}
}
