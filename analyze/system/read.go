package system

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrArchitectureFile is wrapped by the errors for files that are no architecture files, or contradict themselves.
var ErrArchitectureFile = errors.New("not an architecture file of CARET")

// architectureFileLimit bounds what is read; the architecture of Autoware has about two megabytes.
const architectureFileLimit = 64 << 20

// Read reads CARET's architecture file, as caret_analyze, caret-bpf graph --yaml or people have written it.
// It demands what caret_analyze demands; errors wrap ErrArchitectureFile.
func Read(r io.Reader) (*Architecture, error) {
	text, err := io.ReadAll(io.LimitReader(r, architectureFileLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read architecture: %w", err)
	}
	if len(text) > architectureFileLimit {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrArchitectureFile, architectureFileLimit)
	}
	var file struct {
		NamedPaths *[]pathEntry     `yaml:"named_paths"`
		Executors  *[]executorEntry `yaml:"executors"`
		Nodes      *[]nodeEntry     `yaml:"nodes"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchitectureFile, err)
	}
	if file.NamedPaths == nil || file.Executors == nil || file.Nodes == nil {
		return nil, fmt.Errorf("%w: it needs named_paths, executors and nodes", ErrArchitectureFile)
	}
	a := &Architecture{index: newIndex()}
	for i := range *file.Nodes {
		if err := a.addNodeEntry(&(*file.Nodes)[i]); err != nil {
			return nil, fmt.Errorf("%w: node %q: %w", ErrArchitectureFile, (*file.Nodes)[i].Name, err)
		}
	}
	for _, entry := range *file.Executors {
		a.addExecutorEntry(entry)
	}
	for _, entry := range *file.NamedPaths {
		if err := a.addPathEntry(entry); err != nil {
			return nil, fmt.Errorf("%w: path %q: %w", ErrArchitectureFile, entry.Name, err)
		}
	}
	if !a.connect(maxCommunications) {
		return nil, fmt.Errorf("%w: it has more than %d pairs of publishers and subscriptions of one topic", ErrArchitectureFile, maxCommunications)
	}
	return a, nil
}

func (a *Architecture) addNodeEntry(entry *nodeEntry) error {
	if entry.Name == "" {
		return errors.New("node_name is missing")
	}
	if len(a.FindNodes(entry.Name)) > 0 {
		return errors.New("there are two of its name")
	}
	n := &Node{Name: entry.Name}
	a.Nodes = append(a.Nodes, n)
	for i := range entry.Callbacks {
		if err := n.addCallbackEntry(&entry.Callbacks[i]); err != nil {
			return fmt.Errorf("callback %q: %w", entry.Callbacks[i].Name, err)
		}
	}
	for _, e := range entry.Subscribes {
		if err := n.addSubscriberEntry(e); err != nil {
			return fmt.Errorf("subscription of %q: %w", e.Topic, err)
		}
	}
	for _, e := range entry.Publishes {
		if err := n.addPublisherEntry(e); err != nil {
			return fmt.Errorf("publisher of %q: %w", e.Topic, err)
		}
	}
	for _, e := range entry.Groups {
		callbacks, err := n.findCallbacks(e.Callbacks)
		if err != nil {
			return fmt.Errorf("callback group %q: %w", e.Name, err)
		}
		g := &CallbackGroup{Node: n, Name: e.Name, Callbacks: callbacks}
		if e.Type != undefined {
			g.Type = trace.CallbackGroupType(e.Type)
		}
		for _, c := range callbacks {
			c.Group = g
		}
		n.CallbackGroups = append(n.CallbackGroups, g)
	}
	for _, e := range entry.VariablePassings {
		if e.Write == undefined || e.Read == undefined {
			continue
		}
		pair, err := n.findCallbacks([]string{e.Write, e.Read})
		if err != nil {
			return fmt.Errorf("variable passing: %w", err)
		}
		n.VariablePassings = append(n.VariablePassings, VariablePassing{Write: pair[0], Read: pair[1]})
	}
	for _, e := range entry.MessageContexts {
		if err := n.addContextEntry(e); err != nil {
			return fmt.Errorf("message context from %q to %q: %w", e.SubscriptionTopic, e.PublisherTopic, err)
		}
	}
	return nil
}

func (n *Node) addCallbackEntry(e *callbackEntry) error {
	c := &Callback{Node: n, Name: e.Name, ConstructionOrder: e.Order}
	if e.Symbol != undefined {
		c.Symbol = e.Symbol
	}
	switch {
	case e.Name == "" || e.Name == undefined:
		return errors.New("callback_name is missing")
	case n.FindCallback(e.Name) != nil:
		return errors.New("there are two of its name")
	case e.Type == timerCallback && e.Period != nil:
		c.Kind, c.Period = trace.KindTimer, trace.Some(*e.Period)
		n.Timers = append(n.Timers, &Timer{Node: n, Period: c.Period, Callback: c})
	case e.Type == subscriptionCallback && e.Topic != "":
		c.Kind, c.TopicName = trace.KindSubscription, e.Topic
	default:
		return fmt.Errorf("callback_type %q needs to be %s with period_ns or %s with topic_name", e.Type, timerCallback, subscriptionCallback)
	}
	n.Callbacks = append(n.Callbacks, c)
	return nil
}

func (n *Node) addSubscriberEntry(e subscriberEntry) error {
	s := &Subscription{Node: n, TopicName: e.Topic, ConstructionOrder: e.Order}
	if e.Topic == "" {
		return errors.New("topic_name is missing")
	}
	if e.Callback != undefined && e.Callback != "" {
		callbacks, err := n.findCallbacks([]string{e.Callback})
		if err != nil {
			return err
		}
		s.Callback = callbacks[0]
		s.Callback.Subscription = s
	}
	n.Subscriptions = append(n.Subscriptions, s)
	return nil
}

func (n *Node) addPublisherEntry(e publisherEntry) error {
	if e.Topic == "" {
		return errors.New("topic_name is missing")
	}
	callbacks, err := n.findCallbacks(slices.DeleteFunc(slices.Clone(e.Callbacks), func(name string) bool { return name == undefined }))
	if err != nil {
		return err
	}
	p := &Publisher{Node: n, TopicName: e.Topic, ConstructionOrder: e.Order, Callbacks: callbacks}
	for _, c := range callbacks {
		c.Publishes = append(c.Publishes, CallbackPublish{Publisher: p})
	}
	n.Publishers = append(n.Publishers, p)
	return nil
}

func (n *Node) addContextEntry(e contextEntry) error {
	c := MessageContext{
		Type:         ContextType(e.Type),
		Subscription: n.findSubscription(e.SubscriptionTopic, e.SubscriptionOrder),
		Publisher:    n.findPublisher(e.PublisherTopic, e.PublisherOrder),
	}
	switch c.Type {
	case ContextUndefined:
		return nil
	case ContextCallbackChain, ContextUseLatestMessage, ContextInheritUniqueStamp, ContextTilde:
	default:
		return fmt.Errorf("unknown context_type %q", e.Type)
	}
	if c.Subscription == nil || c.Publisher == nil {
		return errors.New("the node has no such subscription or publisher")
	}
	var err error
	if c.Callbacks, err = n.findCallbacks(e.Callbacks); err != nil {
		return err
	}
	c.takeEndsFromChain()
	n.MessageContexts = append(n.MessageContexts, c)
	return nil
}

// takeEndsFromChain corrects the subscription and the publisher where a chain begins and ends at others of the same
// topics: caret_analyze exports contexts without construction orders.
func (c *MessageContext) takeEndsFromChain() {
	if len(c.Callbacks) == 0 {
		return
	}
	if s := c.Callbacks[0].Subscription; s != nil && s.TopicName == c.Subscription.TopicName {
		c.Subscription = s
	}
	last := c.Callbacks[len(c.Callbacks)-1]
	if slices.Contains(c.Publisher.Callbacks, last) {
		return
	}
	for _, p := range c.Publisher.Node.Publishers {
		if p.TopicName == c.Publisher.TopicName && slices.Contains(p.Callbacks, last) {
			c.Publisher = p
			return
		}
	}
}

func (n *Node) findCallbacks(names []string) ([]*Callback, error) {
	var callbacks []*Callback
	for _, name := range names {
		c := n.FindCallback(name)
		if c == nil {
			return nil, fmt.Errorf("no callback %q", name)
		}
		callbacks = append(callbacks, c)
	}
	return callbacks, nil
}

func (n *Node) findSubscription(topic string, order int) *Subscription {
	for _, s := range n.Subscriptions {
		if s.TopicName == topic && s.ConstructionOrder == order {
			return s
		}
	}
	return nil
}

func (n *Node) findPublisher(topic string, order int) *Publisher {
	for _, p := range n.Publishers {
		if p.TopicName == topic && p.ConstructionOrder == order {
			return p
		}
	}
	return nil
}

func (a *Architecture) addExecutorEntry(entry executorEntry) {
	x := &Executor{Name: entry.Name}
	if entry.Type != undefined {
		x.Type = entry.Type
	}
	for _, n := range a.Nodes {
		for _, g := range n.CallbackGroups {
			if slices.Contains(entry.Groups, g.Name) {
				g.Executor = x
				x.Groups = append(x.Groups, g)
			}
		}
	}
	a.Executors = append(a.Executors, x)
}

func (a *Architecture) addPathEntry(entry pathEntry) error {
	if entry.Name == "" {
		return errors.New("path_name is missing")
	}
	if slices.ContainsFunc(a.NamedPaths, func(p *Path) bool { return p.Name == entry.Name }) {
		return errors.New("there are two of its name")
	}
	p, err := a.resolvePath(entry)
	if err != nil {
		return err
	}
	a.NamedPaths = append(a.NamedPaths, p)
	return nil
}

// resolvePath finds the parts of a path; of several nodes of one name it takes the first that has them.
func (a *Architecture) resolvePath(entry pathEntry) (*Path, error) {
	p := &Path{Name: entry.Name}
	for _, part := range entry.Chain {
		resolved := false
		for _, n := range a.FindNodes(part.Node) {
			step := NodePath{Node: n}
			if named(part.SubscribeTopic) {
				step.Subscription = n.findSubscription(part.SubscribeTopic, part.SubscriptionOrder)
			}
			if named(part.PublishTopic) {
				step.Publisher = n.findPublisher(part.PublishTopic, part.PublisherOrder)
			}
			if named(part.SubscribeTopic) && step.Subscription == nil || named(part.PublishTopic) && step.Publisher == nil {
				continue
			}
			if step.Subscription != nil && step.Publisher != nil {
				step.Context = n.Context(step.Subscription, step.Publisher)
			}
			p.Nodes = append(p.Nodes, step)
			resolved = true
			break
		}
		if !resolved {
			return nil, fmt.Errorf("there is no node %q that subscribes to %q and publishes %q", part.Node, part.SubscribeTopic, part.PublishTopic)
		}
	}
	for i := 1; i < len(p.Nodes); i++ {
		from, to := &p.Nodes[i-1], &p.Nodes[i]
		if from.Publisher == nil || to.Subscription == nil || from.Publisher.TopicName != to.Subscription.TopicName {
			return nil, fmt.Errorf("no topic leads from %q to %q: the one has to publish what the other subscribes to", from.Node.Name, to.Node.Name)
		}
	}
	return p, nil
}

func named(topic string) bool { return topic != "" && topic != undefined }
