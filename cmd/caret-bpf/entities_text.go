package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// printEntities writes each process with its nodes and executors, then the topics of all of them.
func printEntities(w *output, processes []liveProcess) {
	if len(processes) == 0 {
		fmt.Fprintln(w, noProcess)
	}
	for i, p := range processes {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s  %s\n", describeProcess(p.PID, p.Command), report.Text(string(p.Distro)), report.Text(report.Printable(p.RMW)))
		if p.Problem != "" {
			fmt.Fprintf(w, "  incomplete: %s\n", report.Printable(p.Problem))
		}
		groups := numberGroups(p)
		for _, n := range p.Nodes {
			printNode(w, n, groups)
		}
		printExecutors(w, p, groups)
		for _, skipped := range p.Skipped {
			fmt.Fprintf(w, "  not looked at: %v-%v, %s\n", skipped.Start, skipped.End, report.Printable(skipped.Reason))
		}
	}
	printLiveTopics(w, processes)
}

// numberGroups gives the callback groups of a process short names.
func numberGroups(p liveProcess) map[trace.Address]string {
	names := make(map[trace.Address]string)
	for _, n := range p.Nodes {
		for _, group := range n.CallbackGroups {
			names[group.Address] = "g" + strconv.Itoa(len(names)+1)
		}
	}
	return names
}

// indent stands before what belongs to a node.
const indent = "    "

func printNode(w *output, n *liveNode, groups map[trace.Address]string) {
	fmt.Fprintf(w, "\n  node %s\n", report.Printable(cmp.Or(n.Name, unknownNode)))
	var rows [][]string
	for _, p := range n.Publishers {
		rows = append(rows, []string{indent + "publisher", p.Topic, p.Type, depth(p.Depth), "", ""})
	}
	for _, s := range n.Subscriptions {
		details := depth(s.Depth)
		if s.IntraProcess {
			details += ", intra-process"
			if s.Capacity.Valid {
				details += " capacity " + strconv.FormatUint(s.Capacity.Value, 10)
			}
		}
		rows = append(rows, []string{indent + "subscription", s.Topic, s.Type, details, groups[s.CallbackGroup], s.Symbol})
	}
	for _, t := range n.Timers {
		period := "-"
		if t.Period.Valid {
			period = time.Duration(t.Period.Value).String()
		}
		rows = append(rows, []string{indent + "timer", period, "", "", groups[t.CallbackGroup], t.Symbol})
	}
	for _, s := range n.Services {
		rows = append(rows, []string{indent + "service", s.Name, s.Type, "", groups[s.CallbackGroup], s.Symbol})
	}
	for _, c := range n.Clients {
		rows = append(rows, []string{indent + "client", c.Name, c.Type, "", groups[c.CallbackGroup], ""})
	}
	if len(rows) > 0 {
		printTable(w, []string{indent + "KIND", "NAME", "TYPE", "QUEUE", "GROUP", "CALLBACK"}, rows)
	}
	if count := n.standard.count(); !count.none() {
		fmt.Fprintln(w, "   ", count.line())
	}
}

func depth(d trace.Optional[uint64]) string {
	if !d.Valid {
		return ""
	}
	return "depth " + strconv.FormatUint(d.Value, 10)
}

func printExecutors(w io.Writer, p liveProcess, names map[trace.Address]string) {
	byExecutor := make(map[trace.Address][]string)
	for _, n := range p.Nodes {
		for _, group := range n.CallbackGroups {
			text := fmt.Sprintf("group %s: %s of %s", names[group.Address], group.Type, report.Printable(cmp.Or(n.Name, unknownNode)))
			byExecutor[group.Executor] = append(byExecutor[group.Executor], text)
		}
	}
	for _, e := range p.Executors {
		threads := ""
		if e.Threads.Valid {
			threads = fmt.Sprintf(", %d threads", e.Threads.Value)
		}
		printBlock(w, fmt.Sprintf("executor %v  %s%s", e.Address, report.Printable(e.Type), threads), byExecutor[e.Address])
		delete(byExecutor, e.Address)
	}
	for _, executor := range slices.Sorted(maps.Keys(byExecutor)) {
		head := fmt.Sprintf("executor %v", executor)
		if executor == 0 {
			head = "in no executor"
		}
		printBlock(w, head, byExecutor[executor])
	}
}

func printBlock(w io.Writer, head string, lines []string) {
	fmt.Fprintf(w, "\n  %s\n", head)
	for _, line := range lines {
		fmt.Fprintln(w, "   ", line)
	}
}

// liveTopic is a topic with the nodes at its ends.
type liveTopic struct {
	types                   map[string]bool
	publishers, subscribers []string
	// standardPublishers and standardSubscribers count the nodes that are at an end because every node is.
	standardPublishers, standardSubscribers int
}

// isStandard reports whether nothing but what every node has is at the ends of the topic.
func (t *liveTopic) isStandard() bool { return len(t.publishers)+len(t.subscribers) == 0 }

// describeEnds names the nodes at one end of a topic, and counts those that are not named.
func describeEnds(nodes []string, standard int) string {
	if standard > 0 {
		nodes = append(slices.Clone(nodes), fmt.Sprintf("%d standard", standard))
	}
	return report.Text(strings.Join(nodes, ", "))
}

// topicsOf collects the topics of processes.
func topicsOf(processes []liveProcess) map[string]*liveTopic {
	topics := make(map[string]*liveTopic)
	topic := func(name, messageType string) *liveTopic {
		t := topics[name]
		if t == nil {
			t = &liveTopic{types: make(map[string]bool)}
			topics[name] = t
		}
		if messageType != "" {
			t.types[messageType] = true
		}
		return t
	}
	for _, p := range processes {
		for _, n := range p.Nodes {
			for _, publisher := range n.Publishers {
				t := topic(publisher.Topic, publisher.Type)
				t.publishers = append(t.publishers, cmp.Or(n.Name, unknownNode))
			}
			for _, subscription := range n.Subscriptions {
				t := topic(subscription.Topic, subscription.Type)
				t.subscribers = append(t.subscribers, cmp.Or(n.Name, unknownNode))
			}
			for _, publisher := range n.standard.publishers {
				topic(publisher.Topic, publisher.Type).standardPublishers++
			}
			for _, subscription := range n.standard.subscriptions {
				topic(subscription.Topic, subscription.Type).standardSubscribers++
			}
		}
	}
	return topics
}

func printLiveTopics(w *output, processes []liveProcess) {
	topics := topicsOf(processes)
	if len(topics) == 0 {
		return
	}
	fmt.Fprintln(w)
	var rows [][]string
	var standard []string
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		t := topics[name]
		if t.isStandard() {
			standard = append(standard, name)
			continue
		}
		rows = append(rows, []string{
			name, report.Text(strings.Join(slices.Sorted(maps.Keys(t.types)), ", ")), describeEnds(t.publishers, t.standardPublishers),
			describeEnds(t.subscribers, t.standardSubscribers),
		})
	}
	if len(rows) > 0 {
		printTable(w, []string{"TOPIC", "TYPE", "PUBLISHERS", "SUBSCRIBERS"}, rows)
	}
	if len(standard) > 0 {
		fmt.Fprintf(w, "standard: %s (%s); %s\n", counted(len(standard), "topic"), strings.Join(standard, ", "), shownByFlag)
	}
}
