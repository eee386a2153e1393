package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// printGraph writes each node with what it is made of, then the executors and the communications. What is standard is
// counted only.
func printGraph(w *output, a *system.Architecture, standard *system.Standard) {
	commands := make(map[trace.ProcessKey]string)
	for _, p := range a.Processes {
		commands[p.ProcessKey] = p.Command
	}
	var ofMiddlewares standardCount
	for _, n := range a.Nodes {
		rows, count := nodeRows(n, standard), countStandard(standard, n)
		if n.Name == "" && len(rows) == 0 {
			ofMiddlewares.subscriptions += count.subscriptions
			continue
		}
		fmt.Fprintf(w, "node %s  (%s)\n", report.Printable(cmp.Or(n.Name, unknownNode)), describeProcess(n.Process.PID, commands[n.Process]))
		if len(rows) > 0 {
			printTable(w, []string{"  KIND", "TOPIC, SERVICE OR PERIOD", "CALLBACK", "PUBLISHES", "POLLS", "GROUP", "FUNCTION"}, rows)
		}
		if !count.none() {
			fmt.Fprintln(w, " ", count.line())
		}
		for _, v := range n.VariablePassings {
			fmt.Fprintf(w, "  %s passes a variable to %s\n", report.Printable(v.Write.Name), report.Printable(v.Read.Name))
		}
		fmt.Fprintln(w)
	}
	if !ofMiddlewares.none() {
		fmt.Fprintf(w, "standard: %v of middlewares (%s); %s\n\n", ofMiddlewares, trace.DiscoveryTopic, shownByFlag)
	}
	printGraphExecutors(w, a)
	printCommunications(w, a, standard)
	for _, p := range a.NamedPaths {
		fmt.Fprintf(w, "path %s: %s\n", report.Printable(p.Name), report.Printable(p.String()))
	}
}

func nodeRows(n *system.Node, standard *system.Standard) [][]string {
	var rows [][]string
	for _, c := range n.Callbacks {
		if standard.Callback(c) {
			continue
		}
		of := cmp.Or(c.TopicName, c.ServiceName)
		if c.Period.Valid {
			of = report.Duration(c.Period.Value)
		}
		var publishes, polls []string
		for _, p := range c.Publishes {
			publishes = append(publishes, p.Publisher.TopicName)
		}
		for _, p := range c.Polls {
			polls = append(polls, p.Subscription.TopicName)
		}
		group := ""
		if c.Group != nil {
			group = short(n, c.Group.Name)
		}
		rows = append(rows, []string{
			"  " + report.Text(string(c.Kind)), report.Text(of), short(n, c.Name), report.Text(strings.Join(publishes, " ")),
			report.Text(strings.Join(polls, " ")), report.Text(group), report.Text(c.Symbol),
		})
	}
	for _, p := range n.Publishers {
		if len(p.Callbacks) == 0 && !standard.Publisher(p) {
			rows = append(rows, []string{"  publisher", report.Text(p.TopicName), "-", "-", "-", "-", "-"})
		}
	}
	for _, s := range n.Subscriptions {
		if s.Callback == nil && !standard.Subscription(s) {
			rows = append(rows, []string{"  subscription", report.Text(s.TopicName), "-", "-", "-", "-", "-"})
		}
	}
	for _, s := range n.Services {
		if s.Callback == nil && !standard.Service(s) {
			rows = append(rows, []string{"  service", report.Text(s.ServiceName), "-", "-", "-", "-", "-"})
		}
	}
	for _, client := range n.Clients {
		rows = append(rows, []string{"  client", report.Text(client.ServiceName), "-", "-", "-", "-", "-"})
	}
	return rows
}

// short is an entity's name without that of its node.
func short(n *system.Node, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, n.Name), "/")
}

func printGraphExecutors(w *output, a *system.Architecture) {
	var rows [][]string
	for _, x := range a.Executors {
		for i, g := range x.Groups {
			row := []string{"", "", "", g.Name, report.Text(string(g.Type))}
			if i == 0 {
				row[0], row[1], row[2] = x.Name, fmt.Sprint(x.Process.PID), report.Text(x.Type)
			}
			rows = append(rows, row)
		}
		if len(x.Groups) == 0 {
			rows = append(rows, []string{x.Name, fmt.Sprint(x.Process.PID), report.Text(x.Type), "-", "-"})
		}
	}
	if len(rows) > 0 {
		printTable(w, []string{"EXECUTOR", "PID>", "TYPE", "CALLBACK GROUP", "GROUP TYPE"}, rows)
		fmt.Fprintln(w)
	}
}

func printCommunications(w *output, a *system.Architecture, standard *system.Standard) {
	var rows [][]string
	folded, topics := 0, make(map[string]bool)
	for _, c := range a.Communications {
		if standard.Communication(c.Publisher, c.Subscription) {
			folded++
			topics[c.TopicName] = true
		} else {
			rows = append(rows, []string{c.TopicName, cmp.Or(c.Publisher.Node.Name, unknownNode), cmp.Or(c.Subscription.Node.Name, unknownNode), report.Text(c.Publisher.MessageType)})
		}
	}
	if len(rows) > 0 {
		printTable(w, []string{"TOPIC", "FROM", "TO", "TYPE"}, rows)
	}
	if folded > 0 {
		fmt.Fprintf(w, "standard: %s (%s); %s\n", counted(folded, "communication"), strings.Join(slices.Sorted(maps.Keys(topics)), ", "), shownByFlag)
	}
}
