package analyze_test

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// reusedDataset writes the executions of two timers that had their callback at one address, one after the other. Of the
// second one no begin was seen.
func reusedDataset(t *testing.T) *trace.Dataset {
	t.Helper()
	const callback = 0x13
	dir := t.TempDir()
	first := trace.Timer{
		ProcessKey: robot, TimerHandle: 0x1, Callback: callback, NodeName: "/first", InitTimestamp: trace.Some(int64(100)),
		EndTimestamp: trace.Some(int64(200)), Telling: trace.Telling{Entity: 1, Revision: 1},
	}
	second := trace.Timer{ProcessKey: robot, TimerHandle: 0x2, Callback: callback, NodeName: "/second", Telling: trace.Telling{Entity: 2, Revision: 2}}
	tracetest.AddSegment(t, dir, 0, []trace.Timer{first, second})
	var executions []trace.Callback
	for _, at := range []int64{50, 150, 160, 250, 260, 270} {
		executions = append(executions, trace.Callback{
			ProcessKey: robot, Callback: callback, CallbackStartTimestamp: trace.Some(at), CallbackEndTimestamp: trace.Some(at + 1),
			Status: trace.CallbackComplete,
		})
	}
	tracetest.AddSegment(t, dir, 0, executions)
	tracetest.AddSession(t, dir, trace.NewSession())
	return tracetest.Open(t, dir)
}

// TestWhoseBeginWasNotSeenHasNoneOfItsPredecessors: an entity without a begin did not live while another one had its
// address.
func TestWhoseBeginWasNotSeenHasNoneOfItsPredecessors(t *testing.T) {
	q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, reusedDataset(t))
	if err != nil {
		t.Fatal(err)
	}
	results, err := q.CallbackLatency(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]uint64)
	for _, result := range results {
		got[result.Node] += result.Count
	}
	if len(got) != 3 || got["/first"] != 2 || got["/second"] != 3 || got[""] != 1 {
		t.Errorf("executions by node: %v", got)
	}
}

// TestWhatWasTakenForSomebodyUnknownIsNoInput: it may have fed a callback inside the one in which it was taken, so that
// one has not got it.
func TestWhatWasTakenForSomebodyUnknownIsNoInput(t *testing.T) {
	for kind, links := range map[trace.TakeKind]uint64{trace.TakeRMW: 1, trace.TakeUnattributed: 0} {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			tracetest.AddSegment(t, dir, 0, []trace.Node{{ProcessKey: robot, NodeHandle: 0x10, NodeName: "planner", Namespace: "/"}})
			tracetest.AddSegment(t, dir, 0, []trace.Subscription{{ProcessKey: robot, SubscriptionHandle: 0x20, NodeHandle: 0x10, TopicName: "/in"}})
			tracetest.AddSegment(t, dir, 0, []trace.Publisher{{ProcessKey: robot, PublisherHandle: 0x30, NodeHandle: 0x10, TopicName: "/out"}})
			tracetest.AddSegment(t, dir, 0, []trace.Timer{{ProcessKey: robot, TimerHandle: 0x40, NodeHandle: 0x10, Callback: 0x41}})
			tracetest.AddSegment(t, dir, 0, []trace.Callback{{
				ProcessKey: robot, Callback: 0x41, CallbackStartTimestamp: trace.Some(int64(100)), CallbackEndTimestamp: trace.Some(int64(200)),
			}})
			tracetest.AddSegment(t, dir, 0, []trace.Take{{
				ProcessKey: robot, Kind: kind, SubscriptionHandle: 0x20, SourceTimestamp: trace.Some(int64(1)), RMWTakeTimestamp: trace.Some(int64(110)),
				Callback: 0x41, CallbackStartTimestamp: trace.Some(int64(100)),
			}, { // the callback is known to poll the subscription
				ProcessKey: robot, Kind: trace.TakeRMW, SubscriptionHandle: 0x20, RMWTakeTimestamp: trace.Some(int64(20)),
				Callback: 0x41, CallbackStartTimestamp: trace.Some(int64(10)),
			}})
			tracetest.AddSegment(t, dir, 0, []trace.Publish{{
				ProcessKey: robot, PublisherHandle: 0x30, RclcppPublishTimestamp: trace.Some(int64(120)), Callback: 0x41,
				CallbackStartTimestamp: trace.Some(int64(100)),
			}})
			tracetest.AddSession(t, dir, trace.NewSession())
			q, err := analyze.NewQuery(t.Context(), analyze.Filter{}, tracetest.Open(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			results, err := q.NodeLatency(t.Context(), analyze.LinkOptions{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			count := uint64(0)
			for _, result := range results {
				count += result.Count
			}
			if count != links {
				t.Errorf("%d publishes are linked with what was taken, want %d: %+v", count, links, results)
			}
		})
	}
}
