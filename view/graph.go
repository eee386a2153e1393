package view

import (
	"context"
	"regexp"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// graph is what nodes send to each other.
type graph struct {
	Nodes []int  `json:"nodes"`
	Edges []edge `json:"edges"`
	// Omitted says that there are more edges, on which no message was seen.
	Omitted bool `json:"omitted"`
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
	Transport []analyze.Transport `json:"transport"`
	// The counts are null where no message was seen: whether there were any is not known.
	Count   *uint64                 `json:"count"`
	Rate    trace.Optional[float64] `json:"rate"`
	Min     trace.Optional[int64]   `json:"min"`
	Mean    trace.Optional[int64]   `json:"mean"`
	P50     trace.Optional[int64]   `json:"p50"`
	P99     trace.Optional[int64]   `json:"p99"`
	Max     trace.Optional[int64]   `json:"max"`
	Lost    *uint64                 `json:"lost"`
	Open    *uint64                 `json:"open"`
	Unknown *uint64                 `json:"unknown"`
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
	g := &graph{Nodes: connections.Nodes, Edges: []edge{}, Omitted: connections.Omitted}
	seen := make(map[connection]bool)
	for i := range rows {
		r := &rows[i]
		of := connection{v.entities.topic(r.Topic), v.nodeNamed(r.PublisherPID, r.PublisherNode), v.nodeNamed(r.SubscriptionPID, r.SubscriptionNode)}
		seen[of] = true
		g.Edges = append(g.Edges, edge{
			connection: of, Transport: []analyze.Transport{r.Transport},
			Count: &r.Count, Rate: r.Rate, Min: r.Min, Mean: r.Mean, P50: r.P50, P99: r.P99, Max: r.Max,
			Lost: &r.Lost, Open: &r.Open, Unknown: &r.Unknown, Communication: &i,
		})
	}
	for _, of := range connections.Edges {
		if !seen[of] {
			g.Edges = append(g.Edges, edge{connection: of, Transport: []analyze.Transport{}})
		}
	}
	return g, nil
}

const (
	// shownConnections is the number of connections that are shown at most.
	shownConnections = 20_000
	// comparedConnections is the number of pairs of a publisher and a subscription that are looked at for them.
	comparedConnections = 10_000_000
)

// connections tell who may send to whom, by the tables of entities only: nodes with publishers and subscriptions of one
// topic that were there at the same time, and that are asked for.
type connections struct {
	Nodes []int        `json:"nodes"`
	Edges []connection `json:"edges"`
	// Omitted says that there are more connections.
	Omitted bool `json:"omitted"`
}

func (v *View) connections(ctx context.Context) (*connections, error) {
	answer := &connections{Nodes: []int{}, Edges: []connection{}}
	err := v.plain.all(ctx, func(q *analyze.Query) error {
		subscriptions := make(map[string][]*system.Subscription)
		shown, seen := make(map[int]bool), make(map[connection]bool)
		compared := 0
		for id, n := range q.Architecture.Nodes {
			shown[id] = v.asksFor(n)
			for _, s := range n.Subscriptions {
				subscriptions[s.TopicName] = append(subscriptions[s.TopicName], s)
			}
		}
		for _, n := range q.Architecture.Nodes {
			for _, p := range n.Publishers {
				if !system.IsFollowed(p.TopicName) {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				compared += len(subscriptions[p.TopicName])
				if len(answer.Edges) >= shownConnections || compared > comparedConnections {
					answer.Omitted = true
					break
				}
				for _, s := range subscriptions[p.TopicName] {
					of := connection{v.entities.topic(p.TopicName), v.nodeNamed(n.Process.PID, n.Name), v.nodeNamed(s.Node.Process.PID, s.Node.Name)}
					if seen[of] || !met(p.Life, s.Life) || !v.asksFor(n) && !v.asksFor(s.Node) {
						continue
					}
					seen[of] = true
					shown[v.entities.nodes[n]], shown[v.entities.nodes[s.Node]] = true, true
					answer.Edges = append(answer.Edges, of)
				}
			}
		}
		for id := range q.Architecture.Nodes {
			if shown[id] {
				answer.Nodes = append(answer.Nodes, id)
			}
		}
		return nil
	})
	return answer, err
}

// met tells whether two were there at the same time, as far as is known.
func met(a, b system.Life) bool {
	return (!a.End.Valid || !b.Init.Valid || b.Init.Value < a.End.Value) && (!b.End.Valid || !a.Init.Valid || a.Init.Value < b.End.Value)
}

// asksFor tells whether the filter takes a node.
func (v *View) asksFor(n *system.Node) bool {
	f := &v.options.Filter
	if len(f.Processes) > 0 && !slices.Contains(f.Processes, n.Process.PID) {
		return false
	}
	fits := func(pattern *regexp.Regexp) bool {
		at := pattern.FindStringIndex(n.Name)
		return n.Name != "" && at != nil && at[0] == 0 && at[1] == len(n.Name)
	}
	return len(f.Nodes) == 0 || slices.ContainsFunc(f.Nodes, fits)
}

func (v *View) nodeNamed(pid int32, name string) trace.Optional[int64] {
	id, known := v.entities.namedNodes[nodeName{pid, name}]
	if !known {
		return trace.Optional[int64]{}
	}
	return trace.Some(int64(id))
}
