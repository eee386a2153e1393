package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// pair is a subscription and a publisher of one node.
type pair struct {
	subscription *subscription
	publisher    *publisher
}

// made is what a node has made of its inputs by a pair.
type made struct {
	of      map[*message]*reception
	unused  []*reception
	context system.ContextType
	// inputless are outputs of a chain of several callbacks that no input led to.
	inputless []*message
	// traces are, in such a chain, the ways to outputs and to unused inputs.
	traces map[any]chainTrace
}

// pairOf finds the pair that a query knows; ok is false where it knows more than there is.
func (t *truth) pairOf(n *system.Node, s *system.Subscription, p *system.Publisher) (of pair, ok bool) {
	t.eachNode(func(other *node) {
		if other.process.key != n.Process || other.handle != n.Handle {
			return
		}
		for _, sub := range other.subscriptions {
			if sub.handle == s.Handle {
				of.subscription = sub
			}
		}
		for _, publisher := range other.publishers {
			if publisher.handle == p.Handle {
				of.publisher = publisher
			}
		}
	})
	return of, of.subscription != nil && of.publisher != nil
}

// make returns what the node made of the inputs of a pair, in the sense of a context.
func (t *truth) make(of pair, context system.ContextType, chain []*system.Callback, everyStart bool) *made {
	result := &made{of: make(map[*message]*reception), context: context, traces: make(map[any]chainTrace)}
	switch {
	case context == system.ContextUseLatestMessage:
		result.useLatest(of)
	case context == system.ContextFused:
		result.fuse(of)
	case len(chain) == 1:
		result.follow(of)
	default:
		callbacks := t.callbacksOf(of.subscription.node, chain)
		from := func(e *execution) *execution { return e.from }
		if everyStart {
			from = func(e *execution) *execution { return e.lastBefore(callbacks) }
		}
		result.followChain(of, callbacks, from)
	}
	return result
}

// callbacksOf finds the callbacks of a chain.
func (t *truth) callbacksOf(n *node, chain []*system.Callback) (callbacks []*callback) {
	for _, known := range chain {
		for _, c := range n.callbacks {
			if c.address == known.Address {
				callbacks = append(callbacks, c)
			}
		}
	}
	return callbacks
}

// inputs are the messages that the subscription was seen to get, by the time.
func (sub *subscription) inputs() (inputs []*reception) {
	for _, of := range sub.received {
		if of.seen() {
			inputs = append(inputs, of)
		}
	}
	slices.SortStableFunc(inputs, func(a, b *reception) int {
		return cmp.Or(cmp.Compare(a.input(), b.input()), cmp.Compare(a.completed(), b.completed()))
	})
	return inputs
}

// completed is when the row of the reception was written: of inputs of one time, the latest is that of the last row.
func (of *reception) completed() int64 {
	if of.asPolled() {
		return of.take
	}
	return of.execution.written
}

// outputs are the messages whose publish was recorded, by the time.
func (p *publisher) outputs() (outputs []*message) {
	for _, m := range p.messages {
		if m.numbered {
			outputs = append(outputs, m)
		}
	}
	slices.SortStableFunc(outputs, func(a, b *message) int { return cmp.Compare(a.published(), b.published()) })
	return outputs
}

// isIn tells whether the message is known to have been published in an execution whose start was recorded.
func (m *message) isIn() bool { return m.publisher.node.process.recording.sees(m.in.start) }

// follow is callback_chain with one callback: what the execution had got.
func (of *made) follow(by pair) {
	used := make(map[*reception]bool)
	for _, m := range by.publisher.outputs() {
		if in := m.inputs[by.subscription]; in.seen() && m.isIn() && in.execution.isSeen() {
			of.of[m] = in
			used[in] = true
		}
	}
	of.leave(by, used)
}

// leave notes all inputs as unused that are not used.
func (of *made) leave(by pair, used map[*reception]bool) {
	for _, in := range by.subscription.inputs() {
		if !used[in] {
			of.unused = append(of.unused, in)
		}
	}
}

// isSeen tells whether its start was recorded.
func (e *execution) isSeen() bool { return e.callback.node.process.recording.sees(e.start) }

// useLatest is use_latest_message: the latest input at or before the publish.
func (of *made) useLatest(by pair) {
	used := make(map[*reception]bool)
	inputs := by.subscription.inputs()
	for _, m := range by.publisher.outputs() {
		if in := latestOf(inputs, m.published()); in != nil {
			of.of[m] = in
			used[in] = true
		}
	}
	of.leave(by, used)
}

func latestOf(inputs []*reception, at int64) (latest *reception) {
	for _, in := range inputs {
		if in.input() <= at {
			latest = in
		}
	}
	return latest
}

// fuse is fused: the input of the execution that published, else the latest one. The last one may be used yet.
func (of *made) fuse(by pair) {
	used := make(map[*reception]bool)
	inputs := by.subscription.inputs()
	for _, m := range by.publisher.outputs() {
		in := latestOf(inputs, m.published())
		if own := m.inputs[by.subscription]; own.seen() && m.isIn() && own.execution.isSeen() {
			in = own
		}
		if in != nil {
			of.of[m] = in
			used[in] = true
		}
	}
	if len(inputs) > 0 {
		used[inputs[len(inputs)-1]] = true
	}
	of.leave(by, used)
}

// followChain is callback_chain with several callbacks: what each has left in a variable, the next one read. from tells
// whose variable an execution read.
func (of *made) followChain(by pair, chain []*callback, from func(*execution) *execution) {
	last := chain[len(chain)-1]
	used := make(map[*reception]bool)
	for _, m := range by.publisher.outputs() {
		if m.in.callback != last || !m.in.isSeen() {
			continue
		}
		of.traces[m] = traceOf(m.in, by, len(chain), from)
		if in := of.traces[m].input; in != nil {
			of.of[m] = in
			used[in] = true
		} else {
			of.inputless = append(of.inputless, m)
		}
	}
	// Of what led to no output, the last execution that came furthest tells the way.
	for i, c := range chain {
		for _, e := range c.executions {
			if !e.isSeen() {
				continue
			}
			trace := traceOf(e, by, i+1, from)
			if c != last && i > 0 {
				trace.middle = append(trace.middle, e)
			}
			if in := trace.input; in != nil && !used[in] {
				if _, known := of.traces[in]; !known {
					of.unused = append(of.unused, in)
				}
				of.traces[in] = trace
			}
		}
	}
}

// lastBefore is the execution of the callback before in a chain that ended last before this one started.
func (e *execution) lastBefore(chain []*callback) (latest *execution) {
	place := slices.Index(chain, e.callback)
	if place <= 0 {
		return nil
	}
	r := e.callback.node.process.recording
	for _, other := range chain[place-1].executions {
		if r.sees(other.end) && other.isSeen() && r.stamp(other.end) <= r.stamp(e.start) && (latest == nil || other.end > latest.end) {
			latest = other
		}
	}
	return latest
}

// chainTrace is the way that an execution came to run at its place in a chain.
type chainTrace struct {
	first  *execution // of the chain's first callback; nil where nothing leads back to one
	middle []*execution
	input  *reception // of first
}

// traceOf follows so many callbacks of a chain back, as far as it leads.
func traceOf(e *execution, by pair, callbacks int, from func(*execution) *execution) (of chainTrace) {
	for place := callbacks; place > 1; place-- {
		if place < callbacks {
			of.middle = append(of.middle, e)
		}
		before := from(e)
		if before == nil || !before.isSeen() {
			slices.Reverse(of.middle)
			return of
		}
		e = before
	}
	slices.Reverse(of.middle)
	of.first = e
	var in *reception
	if e.fed != nil && e.fed.delivery.subscription == by.subscription {
		in = e.fed
	}
	for _, polled := range e.polled {
		if polled.delivery.subscription == by.subscription {
			in = polled
		}
	}
	if in.seen() {
		of.input = in
	}
	return of
}

// nodeRows are those of all pairs of which a context tells.
func (t *truth) nodeRows(options analyze.LinkOptions) (rows []row) {
	for _, n := range t.query.Architecture.Nodes {
		for _, s := range n.Subscriptions {
			for _, p := range n.Publishers {
				context := n.Context(s, p)
				if context == system.ContextUndefined && options.Latest {
					context = system.ContextUseLatestMessage
				}
				of, ok := t.pairOf(n, s, p)
				if !ok {
					rows = append(rows, row{text: fmt.Sprintf("there is no pair of %s and %s in %s", s.TopicName, p.TopicName, n.Name)})
					continue
				}
				if context == system.ContextUndefined {
					if of.isConnected() {
						rows = append(rows, row{text: fmt.Sprintf("%s publishes %s in a callback that gets %s", n.Name, p.TopicName, s.TopicName)})
					}
					continue
				}
				rows = append(rows, t.make(of, context, n.CallbackChain(s, p), options.EveryStart).rows(n, s, p, func(e *execution) string { return t.label(e.callback, e.address()).Callback })...)
			}
		}
	}
	return rows
}

// isConnected tells whether a callback that gets the subscription's messages was seen to publish.
func (by pair) isConnected() bool {
	for _, m := range by.publisher.outputs() {
		if c := m.in.callback; m.isIn() && !c.hidden && (c.subscription == by.subscription || slices.ContainsFunc(m.in.callback.executions, func(e *execution) bool {
			return e.isSeen() && slices.ContainsFunc(e.polled, func(of *reception) bool { return of.seen() && of.delivery.subscription == by.subscription })
		})) {
			return true
		}
	}
	return false
}

func (of *made) rows(n *system.Node, s *system.Subscription, p *system.Publisher, names func(*execution) string) (rows []row) {
	label := analyze.NodeLabel{Node: n.Name, PID: n.Process.PID, SubscriptionTopic: s.TopicName, PublisherTopic: p.TopicName, Context: of.context}
	output := func(i analyze.NodeInstance, m *message) analyze.NodeInstance {
		i.Publish = trace.Some(m.published())
		if i.Input.Valid {
			i.Latency = trace.Some(m.published() - i.Input.Value)
		}
		if m.isIn() {
			i.OutputStart = m.publisher.node.process.recording.commonIfSeen(m.in.start)
		}
		return i
	}
	for m, in := range of.of {
		rows = append(rows, textOf(output(of.instance(label, in, of.traces[m], names), m)))
	}
	for _, m := range of.inputless {
		rows = append(rows, textOf(output(of.instance(label, nil, of.traces[m], names), m)))
	}
	for _, in := range of.unused {
		rows = append(rows, textOf(of.instance(label, in, of.traces[in], names)))
	}
	return rows
}

// instance is a row without an output.
func (of *made) instance(label analyze.NodeLabel, in *reception, way chainTrace, names func(*execution) string) analyze.NodeInstance {
	i := analyze.NodeInstance{NodeLabel: label}
	var middle []string
	for _, e := range way.middle {
		r := e.callback.node.process.recording
		middle = append(middle, fmt.Sprintf("%s %d %d", names(e), r.common(e.start), r.common(e.end)))
	}
	i.Middle = strings.Join(middle, "; ")
	if in == nil {
		return i
	}
	i.Input = trace.Some(in.input())
	if e := way.first; e != nil { // the end of the callback that a chain began with, also where it polled
		i.InputEnd = e.callback.node.process.recording.commonIfSeen(e.end)
	} else if !in.asPolled() {
		i.InputEnd = in.execution.callback.node.process.recording.commonIfSeen(in.execution.end)
	}
	return i
}

func textOf(i analyze.NodeInstance) row { return row{text: fmt.Sprintf("%+v", i)} }
