package simulation

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/trace"
)

// counts are what happened in something, as a recording has seen it.
type counts map[counted]uint64

// counted is what is counted. Two processes may have had one PID.
type counted struct {
	process trace.ProcessKey // zero for what is counted of all
	what    string
}

func (c counts) rows() (rows []row) {
	for of, count := range c {
		if count > 0 {
			rows = append(rows, row{text: countText(of.what, count)})
		}
	}
	return rows
}

func countText(what string, count uint64) string { return fmt.Sprintf("%s: %d", what, count) }

// summaryRows count what a recording has seen.
func (s *System) summaryRows(r *recording) []row {
	c := make(counts)
	s.eachNode(func(n *node) {
		if n.process.recording == r {
			c.addNode(s, n)
		}
	})
	return c.rows()
}

func (c counts) addNode(s *System, n *node) {
	r, key := n.process.recording, n.process.key
	of := func(what string) counted { return counted{key, fmt.Sprintf("process %d %s", key.PID, what)} }
	in := func(name, what string) counted {
		return counted{key, fmt.Sprintf("node %q %d %s", name, key.PID, what)}
	}
	for _, callback := range n.callbacks {
		name := n.name
		if callback.hidden {
			name = ""
		}
		for _, e := range callback.executions {
			if r.sees(e.start) || r.sees(e.end) {
				c[of("callbacks")]++
				c[in(name, "callbacks")]++
				if status := e.status(); status != trace.CallbackComplete {
					c[counted{what: fmt.Sprintf("%s %s", trace.TableCallback, status)}]++
				}
			}
			if e.fed != nil && r.sees(e.start) {
				c[counted{what: "topic " + callback.subscription.topic + " received"}]++
			}
		}
	}
	for _, p := range n.publishers {
		for _, m := range p.messages {
			if m.numbered {
				c[of("publishes")]++
				c[in(n.name, "publishes")]++
				c[counted{what: "topic " + p.topic + " publishes"}]++
				if status := m.status(); status != trace.PublishComplete {
					c[counted{what: fmt.Sprintf("%s %s", trace.TablePublish, status)}]++
				}
			}
		}
	}
	for _, sub := range n.subscriptions {
		c.addTakes(sub, of, in)
		if sub.ring != nil {
			for _, o := range sub.ring.operations {
				if o.enqueue && r.sees(o.at) {
					c[of("enqueues")]++
				}
			}
		}
	}
}

func (c counts) addTakes(sub *subscription, in func(what string) counted, inNode func(name, what string) counted) {
	r := sub.node.process.recording
	for _, of := range sub.received {
		if !r.sees(of.take) {
			continue
		}
		kind := "takes"
		switch {
		case of.ignored:
			kind = "ignored"
		case of.polled:
			c[counted{what: "topic " + sub.topic + " received"}]++
		case !r.sees(of.execution.start):
			kind = "unattributed"
		default:
			continue
		}
		c[in("takes")]++
		c[inNode(sub.node.name, kind)]++
	}
}

// summaryTexts are the same of an answer.
func summaryTexts(s *summary.Summary) (texts []string) {
	add := func(what string, count uint64) {
		if count > 0 {
			texts = append(texts, countText(what, count))
		}
	}
	for _, p := range s.Processes {
		process := fmt.Sprintf("process %d", p.PID)
		add(process+" callbacks", p.Callbacks)
		add(process+" publishes", p.Publishes)
		add(process+" takes", p.Takes)
		add(process+" enqueues", p.Enqueues)
	}
	for _, n := range s.Nodes {
		node := fmt.Sprintf("node %q %d", n.NodeName, n.PID)
		add(node+" callbacks", n.Callbacks)
		add(node+" publishes", n.Publishes)
		add(node+" takes", n.Takes)
		add(node+" ignored", n.IgnoredTakes)
		add(node+" unattributed", n.UnattributedTakes)
	}
	for _, t := range s.Topics {
		add("topic "+t.TopicName+" publishes", t.Publishes)
		add("topic "+t.TopicName+" received", t.Received)
	}
	for _, of := range s.Incomplete {
		add(fmt.Sprintf("%s %s", of.Table, of.Status), of.Count)
	}
	return texts
}
