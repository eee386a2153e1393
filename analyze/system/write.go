package system

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Write writes the architecture as CARET's file, which caret_analyze's Architecture('yaml', …) loads. What
// CARET cannot hold is left out, as caret_analyze leaves it out when it exports a trace: services, clients, the topics
// /parameter_events, /rosout and /clock, and what has no name; of several nodes of one name all but the first. omitted
// says what else is missing.
func Write(w io.Writer, a *Architecture) (omitted []string, err error) {
	e := &architectureExport{exported: make(map[*Callback]bool), subscriptions: make(map[*Subscription]bool), publishers: make(map[*Publisher]bool)}
	for _, n := range a.Nodes {
		e.addNode(n)
	}
	for _, x := range a.Executors {
		e.addExecutor(x)
	}
	for _, p := range a.NamedPaths {
		e.addPath(p)
	}
	e.file.NamedPaths = nonNil(e.file.NamedPaths)
	e.file.Executors = nonNil(e.file.Executors)
	e.file.Nodes = nonNil(e.file.Nodes)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(&e.file); err != nil {
		return nil, fmt.Errorf("write architecture: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write architecture: %w", err)
	}
	return e.omitted, nil
}

// architectureExport turns an Architecture into the content of a file.
type architectureExport struct {
	file  architectureFile
	nodes []*Node
	// exported, subscriptions and publishers are what the file has.
	exported      map[*Callback]bool
	subscriptions map[*Subscription]bool
	publishers    map[*Publisher]bool
	omitted       []string
}

func (e *architectureExport) omit(format string, arguments ...any) {
	e.omitted = append(e.omitted, fmt.Sprintf(format, arguments...))
}

func (e *architectureExport) addNode(n *Node) {
	if n.Name == "" {
		if things := len(n.Publishers) + len(n.Subscriptions) + len(n.Timers); things > 0 {
			e.omit("%d publishers, subscriptions and timers of process %d belong to no known node", things, n.Process.PID)
		}
		return
	}
	if len(e.nodes) > 0 && e.nodes[len(e.nodes)-1].Name == n.Name { // sorted by name
		e.omit("node %s of process %d: another node has its name", n.Name, n.Process.PID)
		return
	}
	e.nodes = append(e.nodes, n)
	entry := nodeEntry{Name: n.Name, Groups: []groupEntry{}}
	for _, c := range n.Callbacks {
		e.addCallback(&entry, c)
	}
	for _, g := range n.CallbackGroups {
		if names := e.callbackNames(g.Callbacks); len(names) > 0 {
			entry.Groups = append(entry.Groups, groupEntry{Type: cmp.Or(string(g.Type), undefined), Name: g.Name, Callbacks: names})
		}
	}
	e.addUngrouped(n, &entry)
	if len(entry.Callbacks) >= 2 {
		entry.VariablePassings = e.variablePassings(n)
	}
	var subscriptions []*Subscription
	for _, s := range n.Subscriptions {
		switch {
		case !IsFollowed(s.TopicName):
		case s.Callback == nil || !e.exported[s.Callback]:
			e.omit("a subscription of %s to %q: its callback is unknown", n.Name, s.TopicName)
		default:
			subscriptions = append(subscriptions, s)
			e.subscriptions[s] = true
			entry.Subscribes = append(entry.Subscribes, subscriberEntry{Topic: s.TopicName, Callback: s.Callback.Name, Order: s.ConstructionOrder})
		}
	}
	var publishers []*Publisher
	for _, p := range n.Publishers {
		switch {
		case !IsFollowed(p.TopicName):
		case p.TopicName == "":
			e.omit("a publisher of %s: its topic is unknown", n.Name)
		default:
			publishers = append(publishers, p)
			e.publishers[p] = true
			names := e.callbackNames(e.ownCallbacks(n, p))
			if len(names) == 0 {
				names = []string{undefined}
			}
			entry.Publishes = append(entry.Publishes, publisherEntry{Topic: p.TopicName, Callbacks: names, Order: p.ConstructionOrder})
		}
	}
	for _, s := range subscriptions {
		for _, p := range publishers {
			entry.MessageContexts = append(entry.MessageContexts, e.contextEntry(n, s, p))
		}
	}
	e.file.Nodes = append(e.file.Nodes, entry)
}

// addUngrouped puts the callbacks whose group is unknown into one of undefined type: caret_analyze forgets callbacks
// without a group.
func (e *architectureExport) addUngrouped(n *Node, entry *nodeEntry) {
	var ungrouped []*Callback
	for _, c := range n.Callbacks {
		if c.Group == nil {
			ungrouped = append(ungrouped, c)
		}
	}
	if names := e.callbackNames(ungrouped); len(names) > 0 {
		name := fmt.Sprintf("%s/callback_group_%d", n.Name, len(n.CallbackGroups))
		entry.Groups = append(entry.Groups, groupEntry{Type: undefined, Name: name, Callbacks: names})
	}
}

func (e *architectureExport) addCallback(node *nodeEntry, c *Callback) {
	entry := callbackEntry{Name: c.Name, Symbol: cmp.Or(c.Symbol, undefined), Order: c.ConstructionOrder}
	switch {
	case c.Kind == trace.KindTimer && c.Period.Valid:
		entry.Type, entry.Period = timerCallback, &c.Period.Value
	case c.Kind == trace.KindSubscription && c.TopicName != "":
		if !IsFollowed(c.TopicName) {
			return
		}
		entry.Type, entry.Topic = subscriptionCallback, c.TopicName
	case c.Kind == trace.KindService:
		return
	default:
		e.omit("callback %s: it is unknown what calls it", c.Name)
		return
	}
	e.exported[c] = true
	node.Callbacks = append(node.Callbacks, entry)
}

// ownCallbacks returns the callbacks of a node that publish with its publisher: CARET's files know no others.
func (e *architectureExport) ownCallbacks(n *Node, p *Publisher) (own []*Callback) {
	for _, c := range p.Callbacks {
		if c.Node == n {
			own = append(own, c)
		} else {
			e.omit("what %s publishes to %q in callbacks of other nodes, such as %s", n.Name, p.TopicName, c.Name)
		}
	}
	return own
}

// callbackNames returns the names of those that are in the file.
func (e *architectureExport) callbackNames(callbacks []*Callback) []string {
	var names []string
	for _, c := range callbacks {
		if e.exported[c] {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *architectureExport) variablePassings(n *Node) []passingEntry {
	var entries []passingEntry
	for _, v := range n.VariablePassings {
		if e.exported[v.Write] && e.exported[v.Read] {
			entries = append(entries, passingEntry{Write: v.Write.Name, Read: v.Read.Name})
		}
	}
	if len(entries) == 0 {
		return []passingEntry{{Write: undefined, Read: undefined}}
	}
	return entries
}

func (e *architectureExport) contextEntry(n *Node, s *Subscription, p *Publisher) contextEntry {
	entry := contextEntry{
		Type: string(n.Context(s, p)), SubscriptionTopic: s.TopicName, PublisherTopic: p.TopicName,
		PublisherOrder: p.ConstructionOrder, SubscriptionOrder: s.ConstructionOrder,
	}
	if entry.Type == string(ContextFused) {
		// It is the same for each of the inputs, and CARET has no word for all of them.
		entry.Type = string(ContextUseLatestMessage)
	}
	if entry.Type != string(ContextCallbackChain) {
		return entry
	}
	chain := n.statedChain(s, p)
	if chain == nil {
		chain = n.CallbackChain(s, p)
	}
	if len(chain) == 0 || chain[0] != s.Callback || len(e.callbackNames(chain)) < len(chain) {
		// CARET's chains begin with the subscription's callback; a message that another one polls is the latest one for it.
		entry.Type = string(ContextUseLatestMessage)
		return entry
	}
	for _, c := range chain {
		entry.Callbacks = append(entry.Callbacks, c.Name)
	}
	return entry
}

// statedChain returns the callbacks of the node's message context; nil where it has none.
func (n *Node) statedChain(s *Subscription, p *Publisher) []*Callback {
	for _, c := range n.MessageContexts {
		if c.Subscription == s && c.Publisher == p && c.Type == ContextCallbackChain {
			return c.Callbacks
		}
	}
	return nil
}

func (e *architectureExport) addExecutor(x *Executor) {
	entry := executorEntry{Type: cmp.Or(x.Type, undefined), Name: x.Name, Groups: []string{}}
	for _, g := range x.Groups {
		if slices.Contains(e.nodes, g.Node) && len(e.callbackNames(g.Callbacks)) > 0 {
			entry.Groups = append(entry.Groups, g.Name)
		}
	}
	slices.Sort(entry.Groups)
	e.file.Executors = append(e.file.Executors, entry)
}

// addPath leaves out a path through what the file does not have.
func (e *architectureExport) addPath(p *Path) {
	for _, n := range p.Nodes {
		if !slices.Contains(e.nodes, n.Node) || n.Publisher != nil && !e.publishers[n.Publisher] || n.Subscription != nil && !e.subscriptions[n.Subscription] {
			e.omit("path %s: a part of it in %s is left out", p.Name, n.Node.Name)
			return
		}
	}
	e.file.NamedPaths = append(e.file.NamedPaths, pathToEntry(p))
}

func pathToEntry(p *Path) pathEntry {
	entry := pathEntry{Name: p.Name, Chain: []nodePathEntry{}}
	for _, n := range p.Nodes {
		part := nodePathEntry{Node: n.Node.Name, PublishTopic: undefined, SubscribeTopic: undefined}
		if n.Publisher != nil {
			part.PublishTopic, part.PublisherOrder = n.Publisher.TopicName, n.Publisher.ConstructionOrder
		}
		if n.Subscription != nil {
			part.SubscribeTopic, part.SubscriptionOrder = n.Subscription.TopicName, n.Subscription.ConstructionOrder
		}
		entry.Chain = append(entry.Chain, part)
	}
	return entry
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
