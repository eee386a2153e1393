package view

import (
	"context"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// graph is what nodes send to each other.
type graph struct {
	Nodes []int  `json:"nodes"`
	Edges []edge `json:"edges"`
}

// connection leads from a node to another one, or to itself. Nodes are null that no table of entities has.
type connection struct {
	Topic int                   `json:"topic"`
	From  trace.Optional[int64] `json:"from"`
	To    trace.Optional[int64] `json:"to"`
}

// edge is what one node sends to another on one topic in one way. The numbers are those of `latency communication`.
type edge struct {
	connection
	Transport []analyze.Transport     `json:"transport"`
	Count     uint64                  `json:"count"`
	Rate      trace.Optional[float64] `json:"rate"`
	Min       trace.Optional[int64]   `json:"min"`
	Mean      trace.Optional[int64]   `json:"mean"`
	P50       trace.Optional[int64]   `json:"p50"`
	P99       trace.Optional[int64]   `json:"p99"`
	Max       trace.Optional[int64]   `json:"max"`
	Lost      uint64                  `json:"lost"`
	Open      uint64                  `json:"open"`
	Unknown   uint64                  `json:"unknown"`
	// Communication is the row of the answer `communications`; null where no message was seen.
	Communication *int `json:"communication"`
}

func (v *View) graph(ctx context.Context) (*graph, error) {
	rows, err := v.communicationLatencies(ctx)
	if err != nil {
		return nil, err
	}
	connections, err := v.connections(ctx)
	if err != nil {
		return nil, err
	}
	g := &graph{Nodes: connections.Nodes, Edges: []edge{}}
	seen := make(map[connection]bool)
	for i := range rows {
		r := &rows[i]
		of := connection{v.entities.topic(r.Topic), v.nodeNamed(r.PublisherPID, r.PublisherNode), v.nodeNamed(r.SubscriptionPID, r.SubscriptionNode)}
		seen[of] = true
		g.Edges = append(g.Edges, edge{
			connection: of, Transport: []analyze.Transport{r.Transport},
			Count: r.Count, Rate: r.Rate, Min: r.Min, Mean: r.Mean, P50: r.P50, P99: r.P99, Max: r.Max,
			Lost: r.Lost, Open: r.Open, Unknown: r.Unknown, Communication: &i,
		})
	}
	for _, of := range connections.Edges {
		if !seen[of] {
			g.Edges = append(g.Edges, edge{connection: of, Transport: []analyze.Transport{}})
		}
	}
	return g, nil
}

// connections tell who may send to whom, by the tables of entities only.
type connections struct {
	Nodes []int        `json:"nodes"`
	Edges []connection `json:"edges"`
}

func (v *View) connections(ctx context.Context) (*connections, error) {
	answer := &connections{Nodes: []int{}, Edges: []connection{}}
	err := v.plain.all(ctx, func(q *analyze.Query) error {
		for id := range q.Architecture.Nodes {
			answer.Nodes = append(answer.Nodes, id)
		}
		seen := make(map[connection]bool)
		eachConnection(q.Architecture, func(p *system.Publisher, s *system.Subscription) {
			of := connection{v.entities.topic(p.TopicName), v.nodeNamed(p.Node.Process.PID, p.Node.Name), v.nodeNamed(s.Node.Process.PID, s.Node.Name)}
			if !seen[of] {
				seen[of] = true
				answer.Edges = append(answer.Edges, of)
			}
		})
		return nil
	})
	return answer, err
}

// eachConnection calls each for the publishers and subscriptions of the same topics, but for topics that nearly all
// nodes share.
func eachConnection(a *system.Architecture, each func(*system.Publisher, *system.Subscription)) {
	subscriptions := make(map[string][]*system.Subscription)
	for _, n := range a.Nodes {
		for _, s := range n.Subscriptions {
			subscriptions[s.TopicName] = append(subscriptions[s.TopicName], s)
		}
	}
	for _, n := range a.Nodes {
		for _, p := range n.Publishers {
			if !system.IsFollowed(p.TopicName) {
				continue
			}
			for _, s := range subscriptions[p.TopicName] {
				each(p, s)
			}
		}
	}
}

func (v *View) nodeNamed(pid int32, name string) trace.Optional[int64] {
	id, known := v.entities.namedNodes[nodeName{pid, name}]
	if !known {
		return trace.Optional[int64]{}
	}
	return trace.Some(int64(id))
}
