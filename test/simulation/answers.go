package simulation

import (
	"context"
	"fmt"
	"math"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// row is a row that an answer must have. A row with another text may stand in its place where nothing recorded tells
// what happened.
type row struct {
	text  string
	other string // "" for none
	// told is told of the row that the answer has, if not nil.
	told func(text string)
}

// truth gathers the rows that answers about a system must have.
type truth struct {
	*System
	query     *analyze.Query
	callbacks map[system.Place]*system.Callback
	// untold are the ways of messages that nothing recorded tells of, as the answer about communications has said.
	untold map[*delivery]bool
}

// newTruth finds the entities that a query knows. It needs the names that it has given to callbacks.
func newTruth(s *System, q *analyze.Query) *truth {
	t := &truth{System: s, query: q, callbacks: make(map[system.Place]*system.Callback), untold: make(map[*delivery]bool)}
	for _, n := range q.Architecture.Nodes {
		for _, c := range n.Callbacks {
			t.callbacks[system.Place{Process: n.Process, Address: c.Address}] = c
		}
	}
	return t
}

func (t *truth) label(c *callback, address trace.Address) analyze.CallbackLabel {
	pid := c.node.process.key.PID
	if c.hidden {
		return analyze.CallbackLabel{PID: pid, Callback: fmt.Sprintf("%d/%s", pid, address)}
	}
	label := analyze.CallbackLabel{PID: pid, Node: c.node.name, Kind: c.kind, Period: optional(c.period)}
	if known := t.callbacks[system.Place{Process: c.node.process.key, Address: c.address}]; known != nil {
		label.Callback = known.Name
	}
	switch {
	case c.subscription != nil:
		label.Topic = c.subscription.topic
	case c.server != nil:
		label.Topic = c.server.name
	}
	return label
}

// eachCallback passes on the callbacks of all nodes.
func (s *System) eachCallback(tell func(*callback)) {
	s.eachNode(func(n *node) {
		for _, c := range n.callbacks {
			tell(c)
		}
	})
}

func (s *System) eachNode(tell func(*node)) {
	for _, p := range s.processes {
		for _, n := range p.nodes {
			tell(n)
		}
	}
}

// eachMessage passes on the messages whose publish was recorded.
func (s *System) eachMessage(tell func(*message)) {
	s.eachNode(func(n *node) {
		for _, p := range n.publishers {
			for _, m := range p.messages {
				if m.numbered {
					tell(m)
				}
			}
		}
	})
}

// executionRows are those of every execution whose start was recorded.
func (t *truth) executionRows() (rows []row) {
	t.eachCallback(func(c *callback) {
		r := c.node.process.recording
		for _, e := range c.executions {
			if !r.sees(e.start) {
				continue
			}
			of := analyze.CallbackExecution{
				CallbackLabel: t.label(c, e.address()), TID: e.thread.tid, Begin: r.common(e.start), End: r.commonIfSeen(e.end), Status: e.status(),
			}
			if of.End.Valid {
				of.Latency = trace.Some(of.End.Value - of.Begin)
			}
			rows = append(rows, row{text: fmt.Sprintf("%+v", of)})
		}
	})
	return rows
}

// callRows are those of calls of which a step was recorded.
func (t *truth) callRows() (rows []row) {
	for _, c := range t.calls {
		client := c.client.node.process
		of := analyze.ServiceCall{
			ServiceLabel: analyze.ServiceLabel{Service: c.client.name}, ClientGID: c.client.gid, SequenceNumber: c.sequence,
			RequestSent: client.recording.commonIfSeen(c.requestSent), ResponseTaken: client.recording.commonIfSeen(c.answerTaken),
		}
		if of.RequestSent.Valid || of.ResponseTaken.Valid {
			of.ClientNode, of.ClientPID = c.client.node.name, client.key.PID
		}
		if c.server != nil {
			server := c.server.node.process
			of.RequestTaken, of.ResponseSent = server.recording.commonIfSeen(c.requestTaken), server.recording.commonIfSeen(c.answerSent)
			if of.RequestTaken.Valid || of.ResponseSent.Valid {
				of.ServerNode, of.ServerPID = c.server.node.name, server.key.PID
			}
		}
		if of.RequestSent.Valid && of.ResponseTaken.Valid {
			of.Latency = trace.Some(of.ResponseTaken.Value - of.RequestSent.Value)
		}
		if of.ClientNode != "" || of.ServerNode != "" {
			rows = append(rows, row{text: fmt.Sprintf("%+v", of)})
		}
	}
	return rows
}

// series returns the text of each instance of an answer. It fails if they are not in the order of their times.
func series[I any](ctx context.Context, at func(*I) int64, ask func(ctx context.Context, each func([]I) error) error) (texts []string, err error) {
	last := int64(math.MinInt64)
	err = ask(ctx, func(instances []I) error {
		for i := range instances {
			texts = append(texts, fmt.Sprintf("%+v", instances[i]))
			if now := at(&instances[i]); now < last {
				return fmt.Errorf("row %d comes after one of a later time: %s", len(texts), texts[len(texts)-1])
			}
			last = at(&instances[i])
		}
		return nil
	})
	return texts, err
}

// firstOf is the first time that is known.
func firstOf(times ...trace.Optional[int64]) int64 {
	for _, at := range times {
		if at.Valid {
			return at.Value
		}
	}
	return math.MinInt64
}
