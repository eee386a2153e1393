package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// drawing is a graph of ROS 2 for people: nodes by process, topics and services between them.
type drawing struct {
	processes []drawnProcess
	// edges lead from a node to what it publishes or calls, and from what it receives or serves to the node.
	edges []drawnEdge
}

type drawnProcess struct {
	name  string
	nodes []drawnNode
}

// drawnNode has an identity, for two nodes may have one name.
type drawnNode struct {
	id, name string
}

// drawnEdge joins the node with that identity and a topic or service.
type drawnEdge struct {
	node, name         string
	toNode, ofServices bool
}

// isInfrastructure reports whether every node has the topic: drawn, it would connect all with all.
func isInfrastructure(topic string) bool {
	return topic == "/parameter_events" || topic == "/rosout"
}

func (d *drawing) add(e drawnEdge) {
	if e.name != "" && !isInfrastructure(e.name) {
		d.edges = append(d.edges, e)
	}
}

// finish leaves out services without clients, which every node has, and sorts.
func (d *drawing) finish() {
	called := make(map[string]bool)
	for _, e := range d.edges {
		if e.ofServices && !e.toNode {
			called[e.name] = true
		}
	}
	d.edges = slices.DeleteFunc(d.edges, func(e drawnEdge) bool { return e.ofServices && !called[e.name] })
	direction := func(e drawnEdge) string {
		if e.toNode {
			return e.name + "\x00" + e.node
		}
		return e.node + "\x00" + e.name
	}
	slices.SortFunc(d.edges, func(a, b drawnEdge) int { return cmp.Compare(direction(a), direction(b)) })
	d.edges = slices.Compact(d.edges)
}

// names returns the topics or the services of the drawing, sorted.
func (d *drawing) names(services bool) []string {
	var names []string
	for _, e := range d.edges {
		if e.ofServices == services {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// connect adds an edge for each of a node's endpoints of one kind: it is like the others but for the name of the topic
// or service.
func connect[E any](d *drawing, edge drawnEdge, endpoints []E, name func(E) string) {
	for _, endpoint := range endpoints {
		edge.name = name(endpoint)
		d.add(edge)
	}
}

// drawEntities draws what was read from the memory of processes.
func drawEntities(processes []liveProcess) *drawing {
	d := new(drawing)
	for _, p := range processes {
		drawn := drawnProcess{name: fmt.Sprintf("%s (%d)", p.Command, p.PID)}
		for _, n := range p.Nodes {
			id := fmt.Sprintf("node %d %v", p.PID, n.Handle)
			drawn.nodes = append(drawn.nodes, drawnNode{id: id, name: cmp.Or(n.Name, unknownNode)})
			connect(d, drawnEdge{node: id}, n.Publishers, func(p livePublisher) string { return p.Topic })
			connect(d, drawnEdge{node: id, toNode: true}, n.Subscriptions, func(s liveSubscription) string { return s.Topic })
			connect(d, drawnEdge{node: id, ofServices: true}, n.Clients, func(c liveClient) string { return c.Name })
			connect(d, drawnEdge{node: id, toNode: true, ofServices: true}, n.Services, func(s liveService) string { return s.Name })
		}
		d.processes = append(d.processes, drawn)
	}
	d.finish()
	return d
}

// unknownNode stands for the node of entities whose node is unknown.
const unknownNode = "(unknown)"

// drawArchitecture draws what recordings tell.
func drawArchitecture(a *system.Architecture) *drawing {
	d := new(drawing)
	for _, p := range a.Processes {
		drawn := drawnProcess{name: fmt.Sprintf("%s (%d)", p.Command, p.PID)}
		for i, n := range a.Nodes {
			if n.Process != p.ProcessKey || isEmpty(n) {
				continue
			}
			id := fmt.Sprintf("node %d", i)
			drawn.nodes = append(drawn.nodes, drawnNode{id: id, name: cmp.Or(n.Name, unknownNode)})
			connect(d, drawnEdge{node: id}, n.Publishers, func(p *system.Publisher) string { return p.TopicName })
			connect(d, drawnEdge{node: id, toNode: true}, n.Subscriptions, func(s *system.Subscription) string { return s.TopicName })
			connect(d, drawnEdge{node: id, ofServices: true}, n.Clients, func(c *system.Client) string { return c.ServiceName })
			connect(d, drawnEdge{node: id, toNode: true, ofServices: true}, n.Services, func(s *system.Service) string { return s.ServiceName })
		}
		d.processes = append(d.processes, drawn)
	}
	d.finish()
	return d
}

// isEmpty tells whether nothing is known of a node but that there is something without one.
func isEmpty(n *system.Node) bool {
	return n.Name == "" && len(n.Callbacks)+len(n.Publishers)+len(n.Subscriptions)+len(n.Timers)+len(n.Services)+len(n.Clients) == 0
}
