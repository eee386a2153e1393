package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// NodeLabel names a subscription and a publisher of a node in results.
type NodeLabel struct {
	Node              string `report:"node_name"`
	PID               int32  `report:"pid,identifier,detail"`
	SubscriptionTopic string `report:"subscription_topic_name"`
	PublisherTopic    string `report:"publisher_topic_name"`
	// Context is how outputs were found to belong to inputs.
	Context system.ContextType `report:"context,drop=4"`
}

// NodeLatency is the time from the inputs of a node, by one subscription, to the publishes that were made of them.
type NodeLatency struct {
	NodeLabel
	Statistics
	// Unused is the number of messages that led to no publish.
	Unused uint64 `report:"unused,drop=8"`
	// WithoutInput is the number of publishes at the end of a chain of several callbacks that no message led to.
	WithoutInput uint64 `report:"without_input,drop=8"`
}

// NodeInstance is one output of a node with its input, an input without output or, of a chain of several callbacks, an
// output without input. Times that there are not are null.
type NodeInstance struct {
	NodeLabel
	// Input is the start of the callback that got the message, or the take of a polled one; InputEnd the end of that
	// callback.
	Input    trace.Optional[int64] `report:"callback_start_timestamp,time"`
	InputEnd trace.Optional[int64] `report:"callback_end_timestamp,time,detail"`
	// Middle are the executions between the first and the last callback of a chain of three and more, in their order: the
	// name of the callback, its start and its end in Unix nanoseconds, with semicolons between them.
	Middle string `report:"middle_callbacks,detail"`
	// OutputStart is the start of the callback that published.
	OutputStart trace.Optional[int64] `report:"publish_callback_start_timestamp,time,detail"`
	Publish     trace.Optional[int64] `report:"publish_timestamp,time,drop=3"`
	Latency     trace.Optional[int64] `report:"latency,duration"`
}

// at is when the input came or, without one, the output began.
func (i *NodeInstance) at() int64 {
	for _, at := range []trace.Optional[int64]{i.Input, i.OutputStart, i.Publish} {
		if at.Valid {
			return at.Value
		}
	}
	return noTime
}

// LoadActivity finds out which callbacks publish and poll what, and which nodes fuse what they receive: without it no
// output of a node belongs to an input.
func (q *Query) LoadActivity(ctx context.Context) error {
	// What was interrupted is done by the next call.
	if !q.active {
		if err := q.loader.LoadActivity(ctx, q.Progress, q.datasets...); err != nil {
			return err
		}
		q.active = true
		for _, warning := range q.Architecture.Warnings {
			if !slices.Contains(q.Warnings, warning) {
				q.Warnings = append(q.Warnings, warning)
			}
		}
	}
	if !q.fused {
		if err := q.inferFusion(ctx); err != nil {
			return err
		}
		q.fused = true
	}
	return nil
}

// LoadArchitecture reads what datasets tell of the system that they recorded, with the message contexts that are
// inferred. progress is called as Query.Progress is.
func LoadArchitecture(ctx context.Context, progress func(read, total int64), datasets ...*trace.Dataset) (*system.Architecture, error) {
	q, err := NewQuery(ctx, Filter{}, datasets...)
	if err != nil {
		return nil, err
	}
	q.Progress = progress
	if err := q.LoadActivity(ctx); err != nil {
		return nil, err
	}
	return q.Architecture, nil
}

// NodeLatency answers how long nodes took from messages to what they published of them: by the message contexts of an
// adopted architecture, else by the recorded callback of each publish. each, if not nil, gets every output with its
// input.
func (q *Query) NodeLatency(ctx context.Context, options LinkOptions, each func([]NodeInstance) error) ([]NodeLatency, error) {
	nodes, err := q.newNodeLatencies(ctx, options, each)
	if err != nil {
		return nil, err
	}
	err = q.eachMessageWindow(ctx, nodes.links.wants(), nodes.add)
	if err != nil {
		return nil, err
	}
	if err := nodes.end(q); err != nil {
		return nil, err
	}
	return nodes.results(), nil
}

// nodeLatencies are those of all pairs that are asked for.
type nodeLatencies struct {
	links     *links
	pairs     []*nodeLatency
	instances series[NodeInstance]
}

// newNodeLatencies prepares the pairs of each node.
func (q *Query) newNodeLatencies(ctx context.Context, options LinkOptions, each func([]NodeInstance) error) (*nodeLatencies, error) {
	if err := q.LoadActivity(ctx); err != nil {
		return nil, err
	}
	var uncomputed int
	var example string
	nodes := &nodeLatencies{instances: newSeries(each, (*NodeInstance).at), links: newLinks(options)}
	for _, n := range q.Architecture.Nodes {
		if !q.filter.node(n) {
			continue
		}
		for _, s := range n.Subscriptions {
			for _, p := range n.Publishers {
				if !matches(q.filter.Topics, s.TopicName, p.TopicName) || !q.filter.subscription(s) {
					continue
				}
				context := nodes.links.contextOf(n.Context(s, p))
				of := &nodeLatency{NodeLabel: NodeLabel{Node: n.Name, PID: n.Process.PID, SubscriptionTopic: s.TopicName, PublisherTopic: p.TopicName, Context: context}}
				if nodes.links.connect(n, s, p, context, func(l linked) {
					if q.filter.covers(l.begin()) {
						nodes.instances.add(of.add(l))
					}
				}) {
					nodes.pairs = append(nodes.pairs, of)
				} else if context != system.ContextUndefined {
					if uncomputed++; uncomputed == 1 {
						example = fmt.Sprintf("%s from %s to %s (%s)", n.Name, s.TopicName, p.TopicName, context)
					}
				}
			}
		}
	}
	if uncomputed > 0 {
		q.Warnings = append(q.Warnings, fmt.Sprintf("%d pairs of a subscription and a publisher are left out, because nothing can be computed by the context that the architecture file names, such as %s",
			uncomputed, example))
	}
	return nodes, nil
}

// add links what happened in a window.
func (n *nodeLatencies) add(w *messageWindow) error {
	n.links.add(w)
	return n.instances.flush()
}

func (n *nodeLatencies) end(q *Query) error {
	n.links.end()
	return n.instances.end(q)
}

func (n *nodeLatencies) results() (results []NodeLatency) {
	for _, of := range n.pairs {
		results = append(results, NodeLatency{NodeLabel: of.NodeLabel, Statistics: of.statistics(), Unused: of.unused, WithoutInput: of.withoutInput})
	}
	slices.SortStableFunc(results, func(a, b NodeLatency) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID), cmp.Compare(a.SubscriptionTopic, b.SubscriptionTopic), cmp.Compare(a.PublisherTopic, b.PublisherTopic))
	})
	return results
}

// nodeLatency gathers the instances of a pair.
type nodeLatency struct {
	NodeLabel
	distribution
	unused, withoutInput uint64
}

// begin is the time of the input, else of the output.
func (l *linked) begin() int64 {
	if l.input == nil {
		return l.output.at
	}
	return l.input.start
}

func (of *nodeLatency) add(l linked) NodeInstance {
	i := NodeInstance{NodeLabel: of.NodeLabel, InputEnd: optionalTime(l.inputEnd), Middle: textOfMiddle(l.middle), OutputStart: optionalTime(l.outputStart)}
	if l.output != nil {
		i.Publish = trace.Some(l.output.at)
	}
	if l.input == nil {
		of.withoutInput++
		return i
	}
	i.Input = trace.Some(l.input.start)
	if l.output == nil {
		of.unused++
		of.begin(l.input.start)
		return i
	}
	i.Latency = trace.Some(l.output.at - l.input.start)
	of.distribution.add(l.input.start, i.Latency.Value)
	return i
}

// textOfMiddle lists the executions in the middle of a chain.
func textOfMiddle(middle []*arrival) string {
	var texts []string
	for _, e := range middle {
		texts = append(texts, fmt.Sprintf("%s %d %d", e.callback.Name, e.start, e.end))
	}
	return strings.Join(texts, "; ")
}
