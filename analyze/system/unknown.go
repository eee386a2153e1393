package system

import (
	"strconv"
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Unknowns are the entities that rows name and no entity table tells of. It is safe for concurrent use.
type Unknowns struct {
	limit         *UnknownLimit
	mu            sync.Mutex
	nodes         map[nodeName]*Node
	callbacks     map[Place]*Callback
	publishers    map[unknownEndpoint]*Publisher
	subscriptions map[unknownEndpoint]*Subscription
}

// unknownEndpoint is a publisher or a subscription of which a row knows at least the topic.
type unknownEndpoint struct {
	Place
	topic, node string
}

// NewUnknowns returns none. They are counted against the limit.
func NewUnknowns(limit *UnknownLimit) *Unknowns {
	return &Unknowns{
		limit: limit,
		nodes: make(map[nodeName]*Node), callbacks: make(map[Place]*Callback),
		publishers: make(map[unknownEndpoint]*Publisher), subscriptions: make(map[unknownEndpoint]*Subscription),
	}
}

// Err returns ErrTooManyUnknown when there are more than may be kept.
func (u *Unknowns) Err() error { return u.limit.Err() }

// Keep counts something else that rows name, with so much text.
func (u *Unknowns) Keep(text int) { u.limit.Keep(text) }

func (u *Unknowns) node(process trace.ProcessKey, name string) *Node {
	key := nodeName{process, name}
	if u.nodes[key] == nil {
		u.limit.Keep(len(name))
		u.nodes[key] = &Node{Process: process, Name: name}
	}
	return u.nodes[key]
}

// Callback returns the callback of an address, always the same one.
func (u *Unknowns) Callback(process trace.ProcessKey, address trace.Address) *Callback {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := Place{process, address}
	c := u.callbacks[key]
	if c == nil {
		u.limit.Keep(0)
		c = &Callback{Node: u.node(process, ""), Name: strconv.Itoa(int(process.PID)) + "/" + address.String(), Address: address}
		u.callbacks[key] = c
	}
	return c
}

// Publisher returns the publisher of what a row says, always the same one. The handle may be 0, the names empty.
func (u *Unknowns) Publisher(process trace.ProcessKey, handle trace.Address, topic, node string) *Publisher {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := unknownEndpoint{Place{process, handle}, topic, node}
	if u.publishers[key] == nil {
		u.limit.Keep(len(topic))
		u.publishers[key] = &Publisher{Node: u.node(process, node), TopicName: topic, Handle: handle}
	}
	return u.publishers[key]
}

// Subscription returns the subscription of what a row says, as Publisher does.
func (u *Unknowns) Subscription(process trace.ProcessKey, handle trace.Address, topic, node string) *Subscription {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := unknownEndpoint{Place{process, handle}, topic, node}
	if u.subscriptions[key] == nil {
		u.limit.Keep(len(topic))
		u.subscriptions[key] = &Subscription{Node: u.node(process, node), TopicName: topic, Handle: handle}
	}
	return u.subscriptions[key]
}
