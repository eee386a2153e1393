package system

import (
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Architecture is what a system is made of and how its parts are connected, as recordings tell it (Load) or a file in
// CARET's format describes it (Read). What came from a file has names only: no processes, no addresses, no lives.
type Architecture struct {
	// Processes are those that were recorded, in the order of their keys.
	Processes []trace.Process
	// Nodes are in the order of their names, then of their processes. Two nodes of one name stay two.
	Nodes []*Node
	// Executors are in the order of their names.
	Executors []*Executor
	// Communications has one element for each pair of a publisher and a subscription of one topic, in the order of Nodes.
	Communications []*Communication
	// NamedPaths are those that a file gives names to; a recording knows none.
	NamedPaths []*Path
	// Warnings say what could not be read or linked.
	Warnings []string
	// Damaged are the segments of recordings that could not be read, or not to their end, while this was made.
	Damaged []*trace.SegmentError

	index *Index
}

// Node is a ROS 2 node.
type Node struct {
	// Process is the process that the node lives in; zero where the node came from a file.
	Process trace.ProcessKey
	// Name is fully qualified. It is empty for the entities of a process whose node is unknown.
	Name string
	// Handle is the rcl node; 0 where only the node's name is known.
	Handle trace.Address
	Life   Life

	// Callbacks are the timers' first, as CARET numbers them, then those of subscriptions, then of services.
	Callbacks      []*Callback
	Publishers     []*Publisher
	Subscriptions  []*Subscription
	Timers         []*Timer
	Services       []*Service
	Clients        []*Client
	CallbackGroups []*CallbackGroup
	// VariablePassings and MessageContexts come from a file only: no event shows what a callback leaves to another in a
	// variable.
	VariablePassings []VariablePassing
	MessageContexts  []MessageContext
	// InferredContexts are those that nobody has said, and that what was recorded suggests.
	InferredContexts []MessageContext
}

// Callback is a function that an executor calls, for a message, a timer or a request. A subscription's has two
// addresses where messages reach it by intra-process communication, too.
type Callback struct {
	Node *Node
	// Name is unique among nodes of different names: the node's with a number, as CARET forms it ("/listener/callback_0");
	// a service's "/listener/service_callback_0".
	Name string
	// Kind is timer, subscription or service; empty where unknown.
	Kind trace.CallbackKind
	// Address is what callback_start passes, IntraProcessAddress the same for messages from an intra-process buffer; 0
	// where there is none.
	Address, IntraProcessAddress trace.Address
	Life                         Life
	// Symbol is the demangled name of the function; empty where unknown.
	Symbol string
	// TopicName is a subscription's topic, ServiceName a service's name, Period a timer's in nanoseconds.
	TopicName   string
	ServiceName string
	Period      trace.Optional[int64]
	// ConstructionOrder counts the callbacks of the node that do not differ in kind, topic or period, and symbol, from 0.
	ConstructionOrder int
	Group             *CallbackGroup
	Subscription      *Subscription
	// Publishes has the publishers that were seen to publish in the callback.
	Publishes []CallbackPublish
	// Polls has the subscriptions that the callback was seen to take from (Subscription::take()).
	Polls []CallbackPoll

	position int // in Node.Callbacks
}

// CallbackPublish counts the publishes of a publisher in a callback.
type CallbackPublish struct {
	Publisher *Publisher
	Count     uint64
}

// CallbackPoll counts the messages of a subscription that a callback took by itself.
type CallbackPoll struct {
	Subscription *Subscription
	Count        uint64
}

// Publisher publishes a topic.
type Publisher struct {
	Node      *Node
	TopicName string
	// MessageType is the ROS name of the type ("std_msgs/msg/String"); empty where unknown.
	MessageType       string
	Handle, RMWHandle trace.Address
	// GID is in hexadecimal; empty where unknown.
	GID  string
	Life Life
	// ConstructionOrder counts the publishers of one topic in the node, from 0.
	ConstructionOrder int
	// Callbacks are those that were seen to publish with it, in the order of Node.Callbacks.
	Callbacks []*Callback
	// OutsideCallbacks is the number of publishes that happened in no callback.
	OutsideCallbacks uint64
}

// Subscription receives a topic.
type Subscription struct {
	Node              *Node
	TopicName         string
	MessageType       string
	Handle, RMWHandle trace.Address
	// Buffer is the ring buffer of its intra-process part; 0 where there is none.
	Buffer trace.Address
	Life   Life
	// ConstructionOrder counts the subscriptions of one topic in the node, from 0.
	ConstructionOrder int
	// Callback is nil where unknown.
	Callback *Callback
	// PolledBy are the callbacks that were seen to take from it, in the order of Node.Callbacks.
	PolledBy []*Callback
}

// Timer calls its callback periodically.
type Timer struct {
	Node   *Node
	Handle trace.Address
	// Period is in nanoseconds.
	Period   trace.Optional[int64]
	Life     Life
	Callback *Callback
}

// Service answers requests.
type Service struct {
	Node        *Node
	ServiceName string
	ServiceType string
	Handle      trace.Address
	Life        Life
	Callback    *Callback
}

// Client sends requests to a service.
type Client struct {
	Node        *Node
	ServiceName string
	ServiceType string
	Handle      trace.Address
	GID         string
	Life        Life
}

// CallbackGroup is a set of callbacks of one node that an executor may or may not run at the same time.
type CallbackGroup struct {
	Node *Node
	// Name is the node's with a number ("/listener/callback_group_0").
	Name    string
	Type    trace.CallbackGroupType
	Address trace.Address
	Life    Life
	// Executor is nil where none runs the group.
	Executor  *Executor
	Callbacks []*Callback

	position int // in Node.CallbackGroups
}

// Executor runs callback groups.
type Executor struct {
	Process trace.ProcessKey
	// Name is "executor_" and a number.
	Name    string
	Type    string
	Address trace.Address
	Life    Life
	Groups  []*CallbackGroup
}

// Communication leads from a publisher to a subscription of its topic.
type Communication struct {
	TopicName    string
	Publisher    *Publisher
	Subscription *Subscription
}

// VariablePassing says that a callback uses what another one of its node left in a variable.
type VariablePassing struct {
	Write, Read *Callback
}

// ContextType says which input message of a node an output message belongs to.
type ContextType string

// The context types, as CARET writes them.
const (
	// ContextUndefined: nobody has said it.
	ContextUndefined ContextType = "UNDEFINED"
	// ContextCallbackChain: callbacks hand it on through variables, the last one publishes.
	ContextCallbackChain ContextType = "callback_chain"
	// ContextUseLatestMessage: the latest message that was received when it was published.
	ContextUseLatestMessage ContextType = "use_latest_message"
	// ContextInheritUniqueStamp: the message with the same header.stamp.
	ContextInheritUniqueStamp ContextType = "inherit_unique_stamp"
	// ContextTilde: what TILDE's tracepoints said.
	ContextTilde ContextType = "tilde"
	// ContextFused: the newest message of each of several subscriptions. CARET does not know it, and nobody says it: it is
	// inferred from when the node published.
	ContextFused ContextType = "fused"
)

// IsNamedOnly reports whether a context can be named in an architecture file, as CARET writes it, but no latency is
// computed by it.
func (c ContextType) IsNamedOnly() bool {
	return c == ContextInheritUniqueStamp || c == ContextTilde
}

// IsInferred reports whether nobody has said a context: what was recorded suggests it.
func (c ContextType) IsInferred() bool { return c == ContextFused }

// MessageContext is the relation between the messages of a subscription and those of a publisher of the same node.
type MessageContext struct {
	Type         ContextType
	Subscription *Subscription
	Publisher    *Publisher
	// Callbacks are the chain from the subscription's callback to the one that publishes; of type callback_chain only.
	Callbacks []*Callback
}

// Path is a way of messages through nodes.
type Path struct {
	// Name is that which a file gave it; empty otherwise.
	Name  string
	Nodes []NodePath
}

// NodePath is the part of a path in one node.
type NodePath struct {
	Node *Node
	// Subscription is where messages come in, nil at the begin of a path that begins in the node.
	Subscription *Subscription
	// Publisher is where they go out, nil at the end of a path that ends in the node.
	Publisher *Publisher
	// Context is how messages get from the subscription to the publisher; empty where one of them is nil.
	Context ContextType
}

// FindNodes returns the nodes of that name, in all processes.
func (a *Architecture) FindNodes(name string) []*Node {
	var nodes []*Node
	for _, n := range a.Nodes {
		if n.Name == name {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Context returns how messages of a subscription get to a publisher of the same node: as the node's MessageContexts
// say, else as a chain of variable passings says, else as is inferred, else callback_chain where the subscription's
// callback, or one that polls it, was seen to publish; else it is undefined.
func (n *Node) Context(s *Subscription, p *Publisher) ContextType {
	if c := findContext(n.MessageContexts, s, p); c != ContextUndefined {
		return c
	}
	chain := n.CallbackChain(s, p)
	if c := findContext(n.InferredContexts, s, p); c != ContextUndefined && len(chain) <= 1 {
		return c
	}
	if chain != nil {
		return ContextCallbackChain
	}
	return ContextUndefined
}

func findContext(contexts []MessageContext, s *Subscription, p *Publisher) ContextType {
	for _, c := range contexts {
		if c.Subscription == s && c.Publisher == p && c.Type != ContextUndefined {
			return c.Type
		}
	}
	return ContextUndefined
}

// CallbackChain returns the shortest chain of callbacks from one that gets the subscription's messages to one that was
// seen to publish with the publisher, each with a variable passing to the next; nil where there is none.
func (n *Node) CallbackChain(s *Subscription, p *Publisher) []*Callback {
	from := make(map[*Callback]*Callback) // where the search came from
	var queue []*Callback
	visit := func(c, former *Callback) {
		if _, seen := from[c]; !seen && c != nil {
			from[c] = former
			queue = append(queue, c)
		}
	}
	visit(s.Callback, nil)
	for _, c := range s.PolledBy {
		visit(c, nil)
	}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		if slices.Contains(p.Callbacks, c) {
			var chain []*Callback
			for ; c != nil; c = from[c] {
				chain = append(chain, c)
			}
			slices.Reverse(chain)
			return chain
		}
		for _, v := range n.VariablePassings {
			if v.Write == c {
				visit(v.Read, c)
			}
		}
	}
	return nil
}

// FindCallback returns the callback of that name; nil where there is none.
func (n *Node) FindCallback(name string) *Callback {
	for _, c := range n.Callbacks {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Index returns what finds the entities by what events carry.
func (a *Architecture) Index() *Index { return a.index }

// CallbackAt returns the callback that had the address at that time; nil where none is known.
func (a *Architecture) CallbackAt(process trace.ProcessKey, address trace.Address, at int64) *Callback {
	return a.index.Callbacks.Find(process, address, at)
}

// PublisherAt returns the publisher that had the rcl handle at that time; nil where none is known.
func (a *Architecture) PublisherAt(process trace.ProcessKey, handle trace.Address, at int64) *Publisher {
	return a.index.Publishers.Find(process, handle, at)
}

// SubscriptionAt returns the subscription that had the rcl handle at that time; nil where none is known.
func (a *Architecture) SubscriptionAt(process trace.ProcessKey, handle trace.Address, at int64) *Subscription {
	return a.index.Subscriptions.Find(process, handle, at)
}

// BufferAt returns the subscription whose intra-process ring buffer had the address at that time; nil where none is
// known.
func (a *Architecture) BufferAt(process trace.ProcessKey, buffer trace.Address, at int64) *Subscription {
	return a.index.Buffers.Find(process, buffer, at)
}

// String writes the path as [node]-[topic]-…-[node].
func (p *Path) String() string {
	var text strings.Builder
	for i, n := range p.Nodes {
		if i == 0 && n.Subscription != nil {
			text.WriteString("[" + n.Subscription.TopicName + "]-")
		}
		text.WriteString("[" + n.Node.Name + "]")
		if n.Publisher != nil {
			text.WriteString("-[" + n.Publisher.TopicName + "]")
			if i+1 < len(p.Nodes) {
				text.WriteString("-")
			}
		}
	}
	return text.String()
}
