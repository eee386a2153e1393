package entities

import (
	"errors"

	"github.com/caret-bpf/caret-bpf/trace"
)

// lived reports whether an entity lived at a time.
func lived(entity mortal, time int64) bool {
	until, ended := entity.end()
	return entity.begin() <= time && (!ended || time < until)
}

// CallbackOfSubscription returns the callback that gets what is taken from the rcl subscription; null if it is unknown.
func (g *Graph) CallbackOfSubscription(handle trace.Address, time int64) trace.Address {
	s, ok := g.subscriptions.at(handle, time)
	if !ok {
		return 0
	}
	for _, o := range s.objects {
		if intra := o.current.IsIntraProcess; lived(o, time) && intra.Valid && !intra.Value && o.callback != nil {
			return o.callback.current.Callback
		}
	}
	return 0
}

// IsIntraProcess tells whether the rcl subscription has intra-process communication. The answer is null where that is
// not known: where neither its initialization was seen, in which the object for that is announced before anything can
// be taken, nor a scan has found it.
func (g *Graph) IsIntraProcess(handle trace.Address, time int64) trace.Optional[bool] {
	s, ok := g.subscriptions.at(handle, time)
	if !ok {
		return trace.Optional[bool]{}
	}
	for _, o := range s.objects {
		if lived(o, time) && o.current.IsIntraProcess.Value {
			return trace.Some(true)
		}
	}
	if s.since != always || s.scanned {
		return trace.Some(false)
	}
	return trace.Optional[bool]{}
}

// BufferOfCallback returns the ring buffer whose messages an intra-process callback gets; null if it is unknown.
func (g *Graph) BufferOfCallback(address trace.Address, time int64) trace.Address {
	c, ok := g.callbackOf(address, time)
	if !ok || c.object == nil {
		return 0
	}
	return c.object.current.Buffer
}

// NoteIntraProcessPublish says that the publisher of an rcl_publisher_t has published with intra-process communication.
func (g *Graph) NoteIntraProcessPublish(handle trace.Address, time int64) {
	if p, ok := g.publishers.at(handle, time); ok {
		p.intraProcess = true
	}
}

// SendsIntraProcess tells whether a message of a topic is from a publisher of this process with intra-process
// communication. identity is what the message says of its publisher, in hexadecimal: its gid, or the instance handle
// that Cyclone DDS gives in its place; "" if it says nothing. The answer is null where that is not known.
func (g *Graph) SendsIntraProcess(topic, identity string, time int64) trace.Optional[bool] {
	var unknown trace.Optional[bool]
	if identity == "" {
		return unknown
	}
	certain := true
	for _, lives := range g.rmwPublishers {
		for _, p := range lives {
			if !lived(p, time) || !may(p.current.TopicName, topic) {
				continue
			}
			switch g.identityOf(p, len(identity)) {
			case identity:
				if p.intraProcess {
					return trace.Some(true)
				}
				return unknown
			case "":
				certain = false
			}
		}
	}
	if !certain {
		return unknown
	}
	return trace.Some(false)
}

// identityOf returns what messages say of their publisher, as hexadecimal of that length; "" if it is unknown.
func (g *Graph) identityOf(p *publisher, length int) string {
	if length == 2*gidSize {
		return p.current.GID
	}
	if p.instance == "" && !p.noInstance {
		instance, err := g.reader.publisherInstanceAt(p.current.RMWPublisherHandle)
		takeRead(g, &p.life, &p.instance, instance)
		p.noInstance = errors.Is(err, errImplausible)
	}
	return p.instance
}
