package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// isInfrastructure reports whether every node has the topic: drawn, it would connect all with all.
func isInfrastructure(topic string) bool {
	return topic == "/parameter_events" || topic == "/rosout"
}

// printDot writes a graph for Graphviz: nodes, the topics between them, and the services that have clients.
func printDot(w io.Writer, processes []liveProcess) {
	fmt.Fprintln(w, "digraph ros {")
	fmt.Fprintln(w, "  rankdir=LR;")
	topics, called := make(map[string]bool), make(map[string]bool)
	for _, p := range processes {
		for _, n := range p.Nodes {
			for _, client := range n.Clients {
				called[client.Name] = true
			}
		}
	}
	var edges []string
	for _, p := range processes {
		fmt.Fprintf(w, "  subgraph \"cluster_%d\" {\n    label=%s;\n", p.PID, quoteDot(fmt.Sprintf("%s (%d)", p.Command, p.PID)))
		for _, n := range p.Nodes {
			name := quoteDot(fmt.Sprintf("node %d %v", p.PID, n.Handle))
			fmt.Fprintf(w, "    %s [label=%s];\n", name, quoteDot(cmp.Or(n.Name, "(unknown)")))
			for _, publisher := range n.Publishers {
				if !isInfrastructure(publisher.Topic) {
					topics[publisher.Topic] = true
					edges = append(edges, fmt.Sprintf("  %s -> %s;", name, quoteDot("topic "+publisher.Topic)))
				}
			}
			for _, subscription := range n.Subscriptions {
				if !isInfrastructure(subscription.Topic) {
					topics[subscription.Topic] = true
					edges = append(edges, fmt.Sprintf("  %s -> %s;", quoteDot("topic "+subscription.Topic), name))
				}
			}
			for _, client := range n.Clients {
				edges = append(edges, fmt.Sprintf("  %s -> %s [style=dashed];", name, quoteDot("service "+client.Name)))
			}
			for _, service := range n.Services {
				if called[service.Name] {
					edges = append(edges, fmt.Sprintf("  %s -> %s [style=dashed];", quoteDot("service "+service.Name), name))
				}
			}
		}
		fmt.Fprintln(w, "  }")
	}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		fmt.Fprintf(w, "  %s [shape=box, label=%s];\n", quoteDot("topic "+topic), quoteDot(topic))
	}
	for _, service := range slices.Sorted(maps.Keys(called)) {
		fmt.Fprintf(w, "  %s [shape=diamond, label=%s];\n", quoteDot("service "+service), quoteDot(service))
	}
	slices.Sort(edges)
	for _, edge := range slices.Compact(edges) {
		fmt.Fprintln(w, edge)
	}
	fmt.Fprintln(w, "}")
}

// quoteDot makes a quoted identifier of Graphviz.
func quoteDot(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(printable(text)) + `"`
}
