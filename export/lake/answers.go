package lake

import (
	"cmp"
	"context"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

func (f *facts) nodesTo(o *outputs) *ordered[analyze.NodeInstance, NodeFact] {
	return orderedTo(o, TableNodeFact, nodeAt, compareNodes, func(row *NodeFact, of *analyze.NodeInstance) {
		*row = NodeFact{
			Host: f.host, PID: of.PID, Node: of.Node, SubscriptionTopic: of.SubscriptionTopic, PublisherTopic: of.PublisherTopic, Context: of.Context,
			Input: of.Input, InputEnd: of.InputEnd, OutputStart: of.OutputStart, Publish: of.Publish, Latency: of.Latency,
		}
	})
}

// nodeAt is when the input came or, without one, the output began.
func nodeAt(i *analyze.NodeInstance) int64 { return firstKnown(i.Input, i.OutputStart, i.Publish) }

// firstKnown is the first one that is not null, 0 if all are.
func firstKnown(times ...trace.Optional[int64]) int64 {
	for _, t := range times {
		if t.Valid {
			return t.Value
		}
	}
	return 0
}

// compareNodes orders instances of one time.
func compareNodes(a, b *analyze.NodeInstance) int {
	return cmp.Or(
		strings.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID), strings.Compare(a.SubscriptionTopic, b.SubscriptionTopic),
		strings.Compare(a.PublisherTopic, b.PublisherTopic), cmp.Compare(a.Publish.Value, b.Publish.Value), cmp.Compare(a.OutputStart.Value, b.OutputStart.Value),
		cmp.Compare(a.InputEnd.Value, b.InputEnd.Value),
	)
}

func (f *facts) readServices(ctx context.Context, o *outputs) error {
	calls := orderedTo(o, TableServiceFact, callAt, compareCalls, func(row *ServiceFact, of *analyze.ServiceCall) {
		*row = ServiceFact{
			Host: f.host, Service: of.Service, ClientNode: of.ClientNode, ClientPID: knownPID(of.ClientPID), ServerNode: of.ServerNode, ServerPID: knownPID(of.ServerPID),
			ClientGID: of.ClientGID, SequenceNumber: of.SequenceNumber,
			RequestSent: of.RequestSent, RequestTaken: of.RequestTaken, ResponseSent: of.ResponseSent, ResponseTaken: of.ResponseTaken, Latency: of.Latency,
		}
	})
	if _, err := f.query.ServiceLatency(ctx, calls.add); err != nil {
		return err
	}
	return calls.rest()
}

// knownPID is null for the process of a side that was not recorded.
func knownPID(pid int32) trace.Optional[int32] {
	return trace.Optional[int32]{Value: pid, Valid: pid != 0}
}

// callAt is the time of the first step that was seen.
func callAt(call *analyze.ServiceCall) int64 {
	at, known := int64(0), false
	for _, step := range []trace.Optional[int64]{call.RequestSent, call.RequestTaken, call.ResponseSent, call.ResponseTaken} {
		if step.Valid && (!known || step.Value < at) {
			at, known = step.Value, true
		}
	}
	return at
}

// compareCalls orders calls of one time.
func compareCalls(a, b *analyze.ServiceCall) int {
	return cmp.Or(
		strings.Compare(a.Service, b.Service), strings.Compare(a.ClientNode, b.ClientNode), cmp.Compare(a.ClientPID, b.ClientPID),
		strings.Compare(a.ServerNode, b.ServerNode), cmp.Compare(a.ServerPID, b.ServerPID), strings.Compare(a.ClientGID, b.ClientGID),
		cmp.Compare(a.SequenceNumber, b.SequenceNumber), cmp.Compare(a.RequestSent.Value, b.RequestSent.Value), cmp.Compare(a.RequestTaken.Value, b.RequestTaken.Value),
		cmp.Compare(a.ResponseSent.Value, b.ResponseSent.Value), cmp.Compare(a.ResponseTaken.Value, b.ResponseTaken.Value),
	)
}

func (f *facts) readResponses(ctx context.Context, o *outputs, paths []*system.Path, options analyze.PathOptions) error {
	to := outputTo[ResponseFact](o, TableResponseFact)
	if len(paths) == 0 {
		return nil
	}
	_, err := f.query.ResponseTime(ctx, paths, options, func(flows []analyze.ResponseTimeInstance) error {
		rows := to.room(3 * len(flows))[:0]
		for i := range flows {
			of := &flows[i]
			for _, response := range []struct {
				kind analyze.ResponseTimeCase
				time int64
			}{
				{analyze.ResponseBest, of.Best}, {analyze.ResponseWorst, of.Worst}, {analyze.ResponseWorstWithExternalLatency, of.WorstWithExternalLatency},
			} {
				rows = append(rows, ResponseFact{Path: of.Path, Kind: response.kind, Begin: of.Output - response.time, End: of.Output, Latency: response.time})
			}
		}
		return to.write(rows)
	}, func(inputs []analyze.ResponseTimeInputInstance) error {
		rows := to.room(len(inputs))
		for i := range inputs {
			of := &inputs[i]
			rows[i] = ResponseFact{Path: of.Path, Kind: analyze.ResponseAll, Begin: of.Input, End: of.Output, Latency: of.ResponseTime}
		}
		return to.write(rows)
	})
	return err
}
