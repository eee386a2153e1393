package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// liveProcess is a running process with its entities, as `list --entities` shows it.
type liveProcess struct {
	PID     int32          `json:"pid"`
	Command string         `json:"command"`
	Distro  distros.Distro `json:"distro"`
	RMW     string         `json:"rmw_implementation"`
	// Nodes are in order of name; entities whose node is unknown are in one without a name.
	Nodes     []*liveNode    `json:"nodes"`
	Executors []liveExecutor `json:"executors"`
	// Scanned is how much memory was read, in bytes.
	Scanned uint64        `json:"scanned_bytes"`
	Skipped []liveSkipped `json:"skipped"`
	// Problem says why there is less than there might be, "" if nothing is amiss.
	Problem string `json:"problem,omitempty"`
}

type liveNode struct {
	Name           string             `json:"name"`
	Handle         trace.Address      `json:"node_handle"`
	Publishers     []livePublisher    `json:"publishers"`
	Subscriptions  []liveSubscription `json:"subscriptions"`
	Timers         []liveTimer        `json:"timers"`
	Services       []liveService      `json:"services"`
	Clients        []liveClient       `json:"clients"`
	CallbackGroups []liveGroup        `json:"callback_groups"`
	// standard is what was set apart of it (foldStandard).
	standard standardEntities
}

type livePublisher struct {
	Handle trace.Address          `json:"publisher_handle"`
	Topic  string                 `json:"topic_name"`
	Type   string                 `json:"message_type"`
	Depth  trace.Optional[uint64] `json:"queue_depth"`
	GID    string                 `json:"gid"`
}

type liveSubscription struct {
	Handle trace.Address          `json:"subscription_handle"`
	Topic  string                 `json:"topic_name"`
	Type   string                 `json:"message_type"`
	Depth  trace.Optional[uint64] `json:"queue_depth"`
	// IntraProcess is true where messages come through a ring buffer of Capacity slots, too.
	IntraProcess  bool                   `json:"intra_process"`
	Capacity      trace.Optional[uint64] `json:"capacity"`
	Symbol        string                 `json:"symbol"`
	CallbackGroup trace.Address          `json:"callback_group"`
}

type liveTimer struct {
	Handle        trace.Address         `json:"timer_handle"`
	Period        trace.Optional[int64] `json:"period"`
	Symbol        string                `json:"symbol"`
	CallbackGroup trace.Address         `json:"callback_group"`
}

type liveService struct {
	Handle        trace.Address `json:"service_handle"`
	Name          string        `json:"service_name"`
	Type          string        `json:"service_type"`
	Symbol        string        `json:"symbol"`
	CallbackGroup trace.Address `json:"callback_group"`
}

type liveClient struct {
	Handle        trace.Address `json:"client_handle"`
	Name          string        `json:"service_name"`
	Type          string        `json:"service_type"`
	GID           string        `json:"gid"`
	CallbackGroup trace.Address `json:"callback_group"`
}

type liveGroup struct {
	Address  trace.Address           `json:"callback_group"`
	Type     trace.CallbackGroupType `json:"group_type_name"`
	Executor trace.Address           `json:"executor"`
}

type liveExecutor struct {
	Address trace.Address          `json:"executor"`
	Type    string                 `json:"executor_type"`
	Threads trace.Optional[uint64] `json:"thread_count"`
	// Groups are the callback groups that it runs.
	Groups []trace.Address `json:"callback_groups"`
}

type liveSkipped struct {
	Start  trace.Address `json:"start"`
	End    trace.Address `json:"end"`
	Reason string        `json:"reason"`
}

// readEntities reads the entities of a process from its memory. What could be read is returned even if there is an
// error.
func readEntities(ctx context.Context, p *target.Process) (liveProcess, error) {
	live := liveProcess{
		PID: p.PID, Command: p.Command, Distro: p.Distro, RMW: p.RMW,
		Nodes: []*liveNode{}, Executors: []liveExecutor{}, Skipped: []liveSkipped{},
	}
	layout, err := entities.LayoutOf(ctx, p)
	if err != nil {
		live.Problem = err.Error()
		return live, err
	}
	memory, err := entities.OpenMemory(ctx, p)
	if err != nil {
		live.Problem = err.Error()
		return live, err
	}
	defer memory.Close()
	snapshot, err := entities.Scan(ctx, memory, layout, 0)
	if err != nil {
		err = fmt.Errorf("PID %d: %w", p.PID, err)
		live.Problem = err.Error()
	}
	live.Scanned = snapshot.Scanned
	for _, skipped := range snapshot.Skipped {
		live.Skipped = append(live.Skipped, liveSkipped{trace.Address(skipped.Start), trace.Address(skipped.End), skipped.Reason})
	}
	found := entities.New(trace.ProcessKey{BootID: p.BootID, PID: p.PID, ProcessStart: p.StartTime})
	found.Apply(snapshot)
	live.add(found.Rows(true))
	return live, err
}

// add sorts the rows by node.
func (l *liveProcess) add(rows trace.Batch) {
	nodes := make(map[trace.Address]*liveNode)
	nodeOf := func(handle trace.Address, name string) *liveNode {
		n := nodes[handle]
		if n == nil {
			n = &liveNode{
				Name: name, Handle: handle, Publishers: []livePublisher{}, Subscriptions: []liveSubscription{}, Timers: []liveTimer{},
				Services: []liveService{}, Clients: []liveClient{}, CallbackGroups: []liveGroup{},
			}
			nodes[handle] = n
			l.Nodes = append(l.Nodes, n)
		}
		return n
	}
	for _, row := range rows.Nodes {
		nodeOf(row.NodeHandle, strings.TrimSuffix(row.Namespace, "/")+"/"+row.NodeName)
	}
	symbols := make(map[trace.Address]string)
	for _, row := range rows.CallbackInfos {
		symbols[row.Callback] = row.Symbol
	}
	for _, row := range rows.Publishers {
		n := nodeOf(row.NodeHandle, row.NodeName)
		n.Publishers = append(n.Publishers, livePublisher{row.PublisherHandle, row.TopicName, row.MessageType, row.QueueDepth, row.GID})
	}
	for _, row := range mergeSubscriptions(rows.Subscriptions) {
		n := nodeOf(row.NodeHandle, row.NodeName)
		n.Subscriptions = append(n.Subscriptions, liveSubscription{
			Handle: row.SubscriptionHandle, Topic: row.TopicName, Type: row.MessageType, Depth: row.QueueDepth,
			IntraProcess: row.IsIntraProcess.Value, Capacity: row.Capacity, Symbol: symbols[row.Callback], CallbackGroup: row.CallbackGroup,
		})
	}
	for _, row := range rows.Timers {
		n := nodeOf(row.NodeHandle, row.NodeName)
		n.Timers = append(n.Timers, liveTimer{row.TimerHandle, row.Period, symbols[row.Callback], row.CallbackGroup})
	}
	for _, row := range rows.ServiceServers {
		n := nodeOf(row.NodeHandle, row.NodeName)
		n.Services = append(n.Services, liveService{
			row.ServiceHandle, row.ServiceName, row.ServiceType, symbols[row.Callback], row.CallbackGroup,
		})
	}
	for _, row := range rows.Clients {
		n := nodeOf(row.NodeHandle, row.NodeName)
		n.Clients = append(n.Clients, liveClient{row.ClientHandle, row.ServiceName, row.ServiceType, row.GID, row.CallbackGroup})
	}
	groups := make(map[trace.Address][]trace.Address)
	for _, row := range rows.CallbackGroups {
		n := nodeOf(row.NodeHandle, row.NodeName)
		n.CallbackGroups = append(n.CallbackGroups, liveGroup{row.CallbackGroup, row.GroupTypeName, row.Executor})
		groups[row.Executor] = append(groups[row.Executor], row.CallbackGroup)
	}
	for _, row := range rows.Executors {
		l.Executors = append(l.Executors, liveExecutor{row.Executor, row.ExecutorType, row.ThreadCount, groups[row.Executor]})
	}
	l.sort()
}

// mergeSubscriptions makes one row of the two that a subscription with intra-process communication has.
func mergeSubscriptions(rows []trace.Subscription) []trace.Subscription {
	var merged []trace.Subscription
	at := make(map[trace.Address]int)
	for _, row := range rows {
		index, known := at[row.SubscriptionHandle]
		if !known {
			at[row.SubscriptionHandle] = len(merged)
			merged = append(merged, row)
		} else if row.IsIntraProcess.Value {
			merged[index].IsIntraProcess, merged[index].Capacity = row.IsIntraProcess, row.Capacity
		}
	}
	return merged
}

// sort puts everything into an order that does not depend on addresses where names differ.
func (l *liveProcess) sort() {
	slices.SortStableFunc(l.Nodes, func(a, b *liveNode) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Handle, b.Handle)) })
	slices.SortFunc(l.Executors, func(a, b liveExecutor) int { return cmp.Compare(a.Address, b.Address) })
	for i := range l.Executors {
		slices.Sort(l.Executors[i].Groups)
	}
	for _, n := range l.Nodes {
		slices.SortFunc(n.Publishers, func(a, b livePublisher) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Handle, b.Handle))
		})
		slices.SortFunc(n.Subscriptions, func(a, b liveSubscription) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Handle, b.Handle))
		})
		slices.SortFunc(n.Timers, func(a, b liveTimer) int {
			return cmp.Or(cmp.Compare(a.Period.Value, b.Period.Value), cmp.Compare(a.Symbol, b.Symbol), cmp.Compare(a.Handle, b.Handle))
		})
		slices.SortFunc(n.Services, func(a, b liveService) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Handle, b.Handle))
		})
		slices.SortFunc(n.Clients, func(a, b liveClient) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Handle, b.Handle))
		})
		slices.SortFunc(n.CallbackGroups, func(a, b liveGroup) int { return cmp.Compare(a.Address, b.Address) })
	}
}

// listEntities shows the entities of processes in one of the forms. All but JSON fold what every node has unless all
// are asked for.
func listEntities(ctx context.Context, c console, found []*target.Process, asJSON, asDot, all bool) error {
	processes := []liveProcess{}
	var problems error
	for _, p := range found {
		live, err := readEntities(ctx, p)
		problems = errors.Join(problems, err)
		processes = append(processes, live)
	}
	if asJSON {
		return errors.Join(problems, report.WriteJSON(c.out, processes))
	}
	if !all {
		processes = foldStandard(processes)
	}
	if asDot {
		printDot(c.out, drawEntities(processes, all))
	} else {
		printEntities(c.out, processes)
	}
	return problems
}
