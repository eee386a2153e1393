package analyze

import (
	"strconv"
	"sync"

	"github.com/caret-bpf/caret-bpf/trace"
)

// unknowns are the entities that rows name and no entity table tells of. It is safe for concurrent use.
type unknowns struct {
	mu            sync.Mutex
	nodes         map[nodeName]*Node
	callbacks     map[place]*Callback
	publishers    map[unknownEndpoint]*Publisher
	subscriptions map[unknownEndpoint]*Subscription
}

// unknownEndpoint is a publisher or a subscription of which a row knows at least the topic.
type unknownEndpoint struct {
	place
	topic, node string
}

func newUnknowns() *unknowns {
	return &unknowns{
		nodes: make(map[nodeName]*Node), callbacks: make(map[place]*Callback),
		publishers: make(map[unknownEndpoint]*Publisher), subscriptions: make(map[unknownEndpoint]*Subscription),
	}
}

func (u *unknowns) node(process trace.ProcessKey, name string) *Node {
	key := nodeName{process, name}
	if u.nodes[key] == nil {
		u.nodes[key] = &Node{Process: process, Name: name}
	}
	return u.nodes[key]
}

func (u *unknowns) callback(process trace.ProcessKey, address trace.Address) *Callback {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := place{process, address}
	c := u.callbacks[key]
	if c == nil {
		c = &Callback{Node: u.node(process, ""), Name: strconv.Itoa(int(process.PID)) + "/" + address.String(), Address: address}
		u.callbacks[key] = c
	}
	return c
}

func (u *unknowns) publisher(process trace.ProcessKey, handle trace.Address, topic, node string) *Publisher {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := unknownEndpoint{place{process, handle}, topic, node}
	if u.publishers[key] == nil {
		u.publishers[key] = &Publisher{Node: u.node(process, node), TopicName: topic, Handle: handle}
	}
	return u.publishers[key]
}

func (u *unknowns) subscription(process trace.ProcessKey, handle trace.Address, topic, node string) *Subscription {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := unknownEndpoint{place{process, handle}, topic, node}
	if u.subscriptions[key] == nil {
		u.subscriptions[key] = &Subscription{Node: u.node(process, node), TopicName: topic, Handle: handle}
	}
	return u.subscriptions[key]
}
