package simulation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// tracked is a path with what the nodes on it have made, and what went along it.
type tracked struct {
	*system.Path
	hops   []hop
	begins []int64 // of messages that set out
	ways   [][]int64
	begun  map[any]bool // messages and receptions at the begin of a way
}

// hop is a node of a path.
type hop struct {
	subscription *subscription
	publisher    *publisher
	made         *made
}

func (h *hop) node() *node {
	if h.publisher != nil {
		return h.publisher.node
	}
	return h.subscription.node
}

// track follows what reached the end of a path back to its begin.
func (t *truth) track(path *system.Path) *tracked {
	p := &tracked{Path: path, begun: make(map[any]bool)}
	for _, of := range path.Nodes {
		p.hops = append(p.hops, t.hopOf(of))
	}
	first, last := p.hops[0], p.hops[len(p.hops)-1]
	if first.subscription != nil {
		for _, in := range first.subscription.inputs() {
			p.begins = append(p.begins, in.input())
		}
	} else {
		for _, m := range first.publisher.outputs() {
			p.begins = append(p.begins, m.published())
		}
	}
	if last.publisher != nil {
		for _, m := range last.publisher.outputs() {
			p.follow(t, len(p.hops)-1, nil, m)
		}
	} else {
		for _, in := range last.subscription.inputs() {
			p.follow(t, len(p.hops)-1, in, nil)
		}
	}
	return p
}

func (t *truth) hopOf(of system.NodePath) (h hop) {
	t.eachNode(func(n *node) {
		if n.process.key != of.Node.Process || n.handle != of.Node.Handle {
			return
		}
		for _, sub := range n.subscriptions {
			if of.Subscription != nil && sub.handle == of.Subscription.Handle {
				h.subscription = sub
			}
		}
		for _, p := range n.publishers {
			if of.Publisher != nil && p.handle == of.Publisher.Handle {
				h.publisher = p
			}
		}
	})
	if h.subscription != nil && h.publisher != nil {
		h.made = t.make(pair{h.subscription, h.publisher}, of.Context, of.Node.CallbackChain(of.Subscription, of.Publisher), false)
	}
	return h
}

// follow goes back from an output of the last node, or an input.
func (p *tracked) follow(t *truth, at int, in *reception, out *message) {
	var way []int64
	for ; ; at-- {
		h := p.hops[at]
		if h.publisher != nil {
			if out == nil || out.publisher != h.publisher {
				return
			}
			way = append(way, out.published())
			if h.subscription == nil {
				p.complete(way, out)
				return
			}
			if in = h.made.of[out]; in == nil {
				return
			}
		}
		way = append(way, in.input())
		if at == 0 {
			p.complete(way, in)
			return
		}
		out = t.origin(in)
	}
}

// origin is the message that was received, nil where nothing tells that it is.
func (t *truth) origin(in *reception) *message {
	d := in.delivery
	m := d.message
	switch {
	case !m.numbered, t.untold[d]:
		return nil
	case d.buffered:
		if r := m.publisher.node.process.recording; !r.sees(d.enqueued) {
			return nil
		}
	case !m.hasSource():
		return nil
	}
	return m
}

func (p *tracked) complete(way []int64, begin any) {
	slices.Reverse(way)
	p.ways = append(p.ways, way)
	p.begun[begin] = true
}

// wayRows are the path as a whole and its hops, of each way.
func (p *tracked) wayRows() (rows []row) {
	name := cmp.Or(p.Name, p.String())
	for _, way := range p.ways {
		text := fmt.Sprintf("%s:", name)
		for _, at := range way {
			text += fmt.Sprintf(" %d", at)
		}
		rows = append(rows, row{text: text})
	}
	return rows
}

// totalRow counts the messages that set out and did not reach the end.
func (p *tracked) totalRow() row {
	return row{text: totalText(cmp.Or(p.Name, p.String()), uint64(len(p.ways)), uint64(len(p.begins)), uint64(len(p.begins)-len(p.begun)))}
}

func totalText(name string, ways, messages, dropped uint64) string {
	return fmt.Sprintf("%s: %d ways, %d messages, %d dropped", name, ways, messages, dropped)
}

// responseRows are those of each flow but the first: an output with the newest input it was made of, if no earlier one
// was made of an input as new.
func (p *tracked) responseRows() (rows []row) {
	newest := make(map[int64]int64) // input, by output
	var outputs []int64
	for _, way := range p.ways {
		begin, end := way[0], way[len(way)-1]
		if end < begin { // by clocks that differ
			continue
		}
		if known, ok := newest[end]; !ok {
			outputs = append(outputs, end)
			newest[end] = begin
		} else {
			newest[end] = max(known, begin)
		}
	}
	slices.Sort(outputs)
	former, any := int64(0), false
	for _, output := range outputs {
		input := newest[output]
		if any && input <= former {
			continue
		}
		if any {
			oldest := input
			for _, begin := range p.begins {
				if begin > former && begin < oldest {
					oldest = begin
				}
			}
			rows = append(rows, row{text: fmt.Sprintf("%+v", analyze.ResponseTimeInstance{
				Path: cmp.Or(p.Name, p.String()), Input: input, Output: output, Best: output - input, Worst: output - oldest, WorstWithExternalLatency: output - former,
				ClockAgreement: p.hops[0].node().agreement(p.hops[len(p.hops)-1].node().process.recording),
			})})
		}
		former, any = input, true
	}
	return rows
}
