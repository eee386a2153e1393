package lake

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// facts makes the files of one recording, all but that of table recording.
type facts struct {
	query     *analyze.Query
	partition *partition
	staging   *staging
	host      string

	callbacks     *numbers[*system.Callback]
	labels        []analyze.CallbackLabel // by the callbacks' numbers
	publishers    *numbers[*system.Publisher]
	subscriptions *numbers[*system.Subscription]
	lost          int64
	unarmed       int64

	mu    sync.Mutex
	files []stagedFile
}

func newFacts(q *analyze.Query, p *partition, s *staging, host string) *facts {
	f := &facts{
		query: q, partition: p, staging: s, host: host,
		callbacks: newNumbers[*system.Callback](), publishers: newNumbers[*system.Publisher](), subscriptions: newNumbers[*system.Subscription](),
	}
	// Those that no entity table has come behind these.
	for _, n := range q.Architecture.Nodes {
		for _, c := range n.Callbacks {
			f.callback(c)
		}
		for _, p := range n.Publishers {
			f.publishers.number(p)
		}
		for _, s := range n.Subscriptions {
			f.subscriptions.number(s)
		}
	}
	return f
}

// callback returns the number of a callback.
func (f *facts) callback(c *system.Callback) int32 {
	id := f.callbacks.number(c)
	if int(id) == len(f.labels) {
		f.labels = append(f.labels, analyze.LabelOf(c))
	}
	return id
}

// write writes the tables. paths are those of path_fact and hop_fact.
func (f *facts) write(ctx context.Context, attributes map[string]string, paths []*system.Path, options analyze.PathOptions) error {
	for _, pass := range []func(context.Context, *outputs) error{
		f.readCallbacks, f.readMessages, f.readLosses,
		func(ctx context.Context, o *outputs) error { return f.readPaths(ctx, o, paths, options) },
		func(ctx context.Context, o *outputs) error { return f.readResponses(ctx, o, paths, options) },
		f.readServices,
		func(_ context.Context, o *outputs) error { return f.tellAttributes(o, attributes) },
		func(_ context.Context, o *outputs) error { return f.tellCallbacks(o) },
	} {
		if err := f.pass(ctx, pass); err != nil {
			return err
		}
	}
	slices.SortFunc(f.files, func(a, b stagedFile) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// rowsOf is how many rows a table has.
func (f *facts) rowsOf(table string) (rows int64) {
	for i := range f.files {
		if strings.HasPrefix(f.files[i].Name, table+"/") {
			rows += f.files[i].Rows
		}
	}
	return rows
}

func (f *facts) readCallbacks(ctx context.Context, o *outputs) error {
	to := outputTo[CallbackFact](o, TableCallbackFact)
	return f.query.Executions(ctx, func(some []analyze.DetailedExecution) error {
		rows := to.room(len(some))
		for i := range some {
			f.setCallback(&rows[i], &some[i])
		}
		return to.write(rows)
	})
}

func (f *facts) setCallback(row *CallbackFact, e *analyze.DetailedExecution) {
	id := f.callback(e.Callback)
	label, process := &f.labels[id], &e.Callback.Node.Process
	*row = CallbackFact{
		Host: f.host, PID: process.PID, ProcessStart: process.ProcessStart, TID: e.TID,
		CallbackID: id, Node: label.Node, Kind: label.Kind, Topic: label.Topic, Period: label.Period, Symbol: label.Symbol,
		Status: e.Status, Depth: e.Depth, Begin: e.Start, End: e.End, Latency: e.Latency,
		Preemptions: e.Preemptions, Migrations: e.Migrations, Overhead: e.Overhead,
	}
	if parts := e.Parts; parts.Valid {
		row.CPUTime, row.PreemptedTime = trace.Some(parts.Value.CPUTime), trace.Some(parts.Value.PreemptedTime)
		row.BlockedTime, row.WakeupLatency = trace.Some(parts.Value.BlockedTime), trace.Some(parts.Value.WakeupLatency)
	}
}

// readMessages reads what messages did on their ways and in nodes, which takes one pass.
func (f *facts) readMessages(ctx context.Context, o *outputs) error {
	messages, nodes := f.messagesTo(o), f.nodesTo(o)
	err := f.query.Detailed(ctx, analyze.LinkOptions{}, analyze.Details{Messages: messages.add, Nodes: nodes.add})
	if err != nil {
		return err
	}
	return errors.Join(messages.rest(), nodes.rest())
}

func (f *facts) messagesTo(o *outputs) *ordered[analyze.DetailedMessage, MessageFact] {
	return orderedTo(o, TableMessageFact, (*analyze.DetailedMessage).Published, compareMessages, f.setMessage)
}

// compareMessages orders messages of one time.
func compareMessages(a, b *analyze.DetailedMessage) int {
	optional := func(a, b trace.Optional[int64]) int {
		if a.Valid != b.Valid {
			return map[bool]int{false: -1, true: 1}[a.Valid]
		}
		return cmp.Compare(a.Value, b.Value)
	}
	return cmp.Or(
		strings.Compare(a.Topic, b.Topic),
		system.CompareProcesses(a.Publisher.Node.Process, b.Publisher.Node.Process), cmp.Compare(a.Publisher.Handle, b.Publisher.Handle),
		system.CompareProcesses(a.Subscription.Node.Process, b.Subscription.Node.Process), cmp.Compare(a.Subscription.Handle, b.Subscription.Handle),
		strings.Compare(a.SubscriptionNode, b.SubscriptionNode), optional(a.SourceTimestamp, b.SourceTimestamp),
		optional(a.RclcppRingBufferQueue, b.RclcppRingBufferQueue), optional(a.Take, b.Take), optional(a.CallbackStartTimestamp, b.CallbackStartTimestamp),
		strings.Compare(string(a.Fate), string(b.Fate)),
	)
}

func (f *facts) setMessage(row *MessageFact, m *analyze.DetailedMessage) {
	*row = MessageFact{
		Host: f.host, Topic: m.Topic, PublisherHost: f.host,
		PublisherNode: m.PublisherNode, PublisherPID: m.PublisherPID, PublisherID: f.publishers.number(m.Publisher),
		SubscriptionNode: m.SubscriptionNode, SubscriptionPID: m.SubscriptionPID, SubscriptionID: f.subscriptions.number(m.Subscription),
		IsIntraProcess: m.Transport == analyze.IntraProcess, JoinedBy: m.JoinedBy, Fate: m.Fate,
		Publish: m.Published(), RclcppIntraPublish: m.RclcppIntraPublish, RclcppPublish: m.RclcppPublish, RclPublish: m.RclPublish,
		RMWPublish: m.RMWPublish, DDSBindAddrToStamp: m.DDSBindAddrToStamp, Source: m.SourceTimestamp, Enqueue: m.RclcppRingBufferQueue,
		Take: m.Take, CallbackStart: m.CallbackStartTimestamp, CallbackEnd: m.CallbackEnd, Latency: m.Latency, Uncertainty: m.ClockUncertainty,
	}
	if m.Callback != nil {
		row.CallbackID = trace.Some(f.callback(m.Callback))
	}
	if m.Fate == analyze.Received {
		row.Polled = trace.Some(m.Polled)
	}
}

func (f *facts) readPaths(ctx context.Context, o *outputs, paths []*system.Path, options analyze.PathOptions) error {
	toHops, toPaths := outputTo[HopFact](o, TableHopFact), outputTo[PathFact](o, TablePathFact)
	if len(paths) == 0 {
		return nil
	}
	order := settled[analyze.PathHopInstance]{at: hopAt, compare: compareHops}
	pass := func(some []analyze.PathHopInstance) error {
		hops, ways := toHops.room(len(some))[:0], toPaths.room(len(some))[:0]
		for i := range some {
			of := &some[i]
			instance := trace.Optional[int64]{Value: int64(of.Instance.Value), Valid: of.Instance.Valid}
			if of.Hop == 0 {
				ways = append(ways, PathFact{Path: of.Path, Instance: instance, Fate: of.Fate, Begin: of.Begin, End: of.End, Latency: of.Latency})
				continue
			}
			hops = append(hops, HopFact{
				Path: of.Path, Instance: instance, Hop: int32(of.Hop), Kind: of.Kind, Name: of.Name, Fate: of.Fate,
				PathBegin: of.PathBegin, Begin: of.Begin, End: of.End, Latency: of.Latency,
			})
		}
		if err := toHops.write(hops); err != nil {
			return err
		}
		return toPaths.write(ways)
	}
	options.Dropped = true
	_, err := f.query.PathLatency(ctx, paths, options, func(some []analyze.PathHopInstance) error { return order.add(some, pass) })
	if err != nil {
		return err
	}
	return order.rest(pass)
}

// hopAt is when the way began or, of a dropped message that came from no begin, the hop.
func hopAt(i *analyze.PathHopInstance) int64 {
	if i.PathBegin.Valid {
		return i.PathBegin.Value
	}
	return i.Begin
}

// compareHops orders hops of one time: those of a way stay together.
func compareHops(a, b *analyze.PathHopInstance) int {
	return cmp.Or(
		strings.Compare(a.Path, b.Path), cmp.Compare(a.Instance.Value, b.Instance.Value), cmp.Compare(a.Hop, b.Hop),
		cmp.Compare(a.Begin, b.Begin), strings.Compare(string(a.Fate), string(b.Fate)),
	)
}

func (f *facts) readLosses(ctx context.Context, o *outputs) error {
	to := outputTo[Loss](o, TableLoss)
	return f.query.Losses(ctx, func(some []trace.Loss) error {
		rows := to.room(len(some))
		for i := range some {
			rows[i] = Loss{some[i]}
			if some[i].Reason == trace.LossUnarmed {
				f.unarmed++
			} else {
				f.lost += int64(some[i].Count)
			}
		}
		return to.write(rows)
	})
}

func (f *facts) tellAttributes(o *outputs, attributes map[string]string) error {
	to := outputTo[RecordingAttribute](o, TableRecordingAttribute)
	var rows []RecordingAttribute
	for key, value := range attributes {
		rows = append(rows, RecordingAttribute{key, value})
	}
	slices.SortFunc(rows, func(a, b RecordingAttribute) int { return strings.Compare(a.Key, b.Key) })
	return to.write(rows)
}

// tellCallbacks names the callbacks that have a number.
func (f *facts) tellCallbacks(o *outputs) error {
	to := outputTo[CallbackInfo](o, TableCallbackInfo)
	rows := make([]CallbackInfo, len(f.callbacks.listed))
	for id, c := range f.callbacks.listed {
		label := &f.labels[id]
		rows[id] = CallbackInfo{
			CallbackID: int32(id), Host: f.host, PID: c.Node.Process.PID, ProcessStart: c.Node.Process.ProcessStart,
			Node: label.Node, Callback: label.Callback, Kind: label.Kind, Topic: label.Topic, Period: label.Period, Symbol: label.Symbol,
		}
	}
	return to.write(rows)
}
