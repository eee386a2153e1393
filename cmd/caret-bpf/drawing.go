package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// drawing is a graph of ROS 2 for people: nodes by process, topics and services between them.
type drawing struct {
	processes []drawnProcess
	// edges lead from a node to what it publishes or calls, and from what it receives or serves to the node.
	edges []drawnEdge
	// standard counts the publishers and subscriptions that are not drawn, because every node has them: drawn, they would
	// connect all with all. uncalled is the number of services that are not drawn, because no node of the drawing calls
	// them.
	standard standardCount
	uncalled int
}

// legend says what is not drawn; "" if all is.
func (d *drawing) legend() string {
	var parts []string
	if !d.standard.none() {
		parts = append(parts, fmt.Sprintf("%v that every node has", d.standard))
	}
	if d.uncalled > 0 {
		parts = append(parts, counted(d.uncalled, "service")+" without a client here")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not drawn: " + strings.Join(parts, "; ") + "; --" + allEntities + " draws them"
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

func (d *drawing) add(e drawnEdge) {
	if e.name != "" {
		d.edges = append(d.edges, e)
	}
}

// finish leaves out services without clients, unless all entities are to be drawn, and sorts.
func (d *drawing) finish(all bool) {
	if !all {
		d.leaveOutUncalled()
	}
	direction := func(e drawnEdge) string {
		if e.toNode {
			return e.name + "\x00" + e.node
		}
		return e.node + "\x00" + e.name
	}
	slices.SortFunc(d.edges, func(a, b drawnEdge) int { return cmp.Compare(direction(a), direction(b)) })
	d.edges = slices.Compact(d.edges)
}

func (d *drawing) leaveOutUncalled() {
	called, uncalled := make(map[string]bool), make(map[string]bool)
	for _, e := range d.edges {
		if e.ofServices && !e.toNode {
			called[e.name] = true
		}
	}
	d.edges = slices.DeleteFunc(d.edges, func(e drawnEdge) bool {
		if e.ofServices && !called[e.name] {
			uncalled[e.name] = true
		}
		return uncalled[e.name] && e.ofServices
	})
	d.uncalled = len(uncalled)
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

// drawEntities draws what was read from the memory of processes, but for what was set apart (foldStandard) and for
// services without a client unless all are to be drawn.
func drawEntities(processes []liveProcess, all bool) *drawing {
	d := new(drawing)
	for _, p := range processes {
		drawn := drawnProcess{name: describeProcess(p.PID, p.Command)}
		for _, n := range p.Nodes {
			id := fmt.Sprintf("node %d %v", p.PID, n.Handle)
			drawn.nodes = append(drawn.nodes, drawnNode{id: id, name: cmp.Or(n.Name, unknownNode)})
			connect(d, drawnEdge{node: id}, n.Publishers, func(p livePublisher) string { return p.Topic })
			connect(d, drawnEdge{node: id, toNode: true}, n.Subscriptions, func(s liveSubscription) string { return s.Topic })
			connect(d, drawnEdge{node: id, ofServices: true}, n.Clients, func(c liveClient) string { return c.Name })
			for _, services := range [][]liveService{n.Services, n.standard.services} {
				connect(d, drawnEdge{node: id, toNode: true, ofServices: true}, services, func(s liveService) string { return s.Name })
			}
			d.standard.publishers += len(n.standard.publishers)
			d.standard.subscriptions += len(n.standard.subscriptions)
		}
		d.processes = append(d.processes, drawn)
	}
	d.finish(all)
	return d
}

// unknownNode stands for the node of entities whose node is unknown.
const unknownNode = "(unknown)"

// drawArchitecture draws what recordings tell, but for what every node publishes and receives and for services without
// a client unless all are to be drawn.
func drawArchitecture(a *system.Architecture, all bool) *drawing {
	d, standard := new(drawing), standardOf(a, all)
	for _, p := range a.Processes {
		drawn := drawnProcess{name: describeProcess(p.PID, p.Command)}
		for i, n := range a.Nodes {
			if n.Process != p.ProcessKey {
				continue
			}
			publishers := slices.DeleteFunc(slices.Clone(n.Publishers), standard.Publisher)
			subscriptions := slices.DeleteFunc(slices.Clone(n.Subscriptions), standard.Subscription)
			if n.Name == "" && len(nodeRows(n, standard)) == 0 { // the middleware's, or nothing
				d.standard.subscriptions += len(n.Subscriptions)
				continue
			}
			id := fmt.Sprintf("node %d", i)
			drawn.nodes = append(drawn.nodes, drawnNode{id: id, name: cmp.Or(n.Name, unknownNode)})
			connect(d, drawnEdge{node: id}, publishers, func(p *system.Publisher) string { return p.TopicName })
			connect(d, drawnEdge{node: id, toNode: true}, subscriptions, func(s *system.Subscription) string { return s.TopicName })
			d.standard.publishers += len(n.Publishers) - len(publishers)
			d.standard.subscriptions += len(n.Subscriptions) - len(subscriptions)
			connect(d, drawnEdge{node: id, ofServices: true}, n.Clients, func(c *system.Client) string { return c.ServiceName })
			connect(d, drawnEdge{node: id, toNode: true, ofServices: true}, n.Services, func(s *system.Service) string { return s.ServiceName })
		}
		d.processes = append(d.processes, drawn)
	}
	d.finish(all)
	return d
}

// isEmpty tells whether nothing is known of a node but that there is something without one.
func isEmpty(n *system.Node) bool {
	return n.Name == "" && len(n.Callbacks)+len(n.Publishers)+len(n.Subscriptions)+len(n.Timers)+len(n.Services)+len(n.Clients) == 0
}
