package session_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/testdata/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// requireEntities requires that the tables of entities say of a process what its ground truth does. Everything was initialized
// while it was recorded.
func requireEntities(t *testing.T, data *dataset, truth *truth) {
	t.Helper()
	nodes := latest(data.Nodes, func(row trace.Node) uint64 { return uint64(row.NodeHandle) })
	same(t, "node", nodes, len(truth.Nodes))
	for _, node := range truth.Nodes {
		row := nodes[node.Node]
		row.InitTimestamp = initialized(t, data, row.InitTimestamp, node.Time)
		expect(t, row, trace.Node{
			ProcessKey: row.ProcessKey, NodeHandle: trace.Address(node.Node), RMWHandle: trace.Address(node.RMWNode), NodeName: node.Name,
			Namespace: node.Namespace, Provenance: trace.FromTracepoint,
		})
	}

	publishers := latest(data.Publishers, func(row trace.Publisher) uint64 { return uint64(row.PublisherHandle) })
	same(t, "publisher", publishers, len(truth.Publishers))
	for _, publisher := range truth.Publishers {
		row := publishers[publisher.Publisher]
		row.InitTimestamp = initialized(t, data, row.InitTimestamp, publisher.Time)
		expect(t, row, trace.Publisher{
			ProcessKey: row.ProcessKey, PublisherHandle: trace.Address(publisher.Publisher), NodeHandle: trace.Address(publisher.Node),
			RMWPublisherHandle: trace.Address(publisher.RMWPublisher), TopicName: publisher.Topic, QueueDepth: trace.Some(publisher.Depth),
			NodeName: truth.nodes[publisher.Node], Provenance: trace.FromTracepoint,
		})
	}

	subscriptions := latest(data.Subscriptions, func(row trace.Subscription) uint64 { return uint64(row.Subscription) })
	objects := 0
	for _, subscription := range truth.Subscriptions {
		want := trace.Subscription{
			SubscriptionHandle: trace.Address(subscription.Subscription), NodeHandle: trace.Address(subscription.Node),
			RMWSubscriptionHandle: trace.Address(subscription.RMWSubscription), TopicName: subscription.Topic,
			QueueDepth: trace.Some(subscription.Depth), NodeName: truth.nodes[subscription.Node], Provenance: trace.FromTracepoint,
		}
		for _, object := range []struct {
			address, callback uint64
		}{{subscription.Object, subscription.Callback}, {subscription.IntraObject, subscription.IntraCallback}} {
			if object.address == 0 {
				continue
			}
			objects++
			row := subscriptions[object.address]
			row.InitTimestamp = initialized(t, data, row.InitTimestamp, subscription.Time)
			// Where these were not seen they are null.
			want.IsIntraProcess, want.Buffer = row.IsIntraProcess, row.Buffer
			if intra := object.address == subscription.IntraObject; row.IsIntraProcess.Valid && row.IsIntraProcess.Value != intra {
				t.Errorf("subscription object %#x: intra-process %t", object.address, !intra)
			}
			if row.Buffer != 0 && uint64(row.Buffer) != subscription.Buffer {
				t.Errorf("subscription object %#x: buffer %#x, not %#x", object.address, row.Buffer, subscription.Buffer)
			}
			want.ProcessKey, want.Subscription, want.Callback = row.ProcessKey, trace.Address(object.address), trace.Address(object.callback)
			expect(t, row, want)
		}
	}
	same(t, "subscription", subscriptions, objects)

	timers := latest(data.Timers, func(row trace.Timer) uint64 { return uint64(row.TimerHandle) })
	same(t, "timer", timers, len(truth.Timers))
	for _, timer := range truth.Timers {
		row := timers[timer.Timer]
		row.InitTimestamp = initialized(t, data, row.InitTimestamp, timer.Time)
		expect(t, row, trace.Timer{
			ProcessKey: row.ProcessKey, TimerHandle: trace.Address(timer.Timer), Period: trace.Some(timer.Period), NodeHandle: trace.Address(timer.Node),
			NodeName: truth.nodes[timer.Node], Callback: trace.Address(timer.Callback), Provenance: trace.FromTracepoint,
		})
	}

	callbacks := latest(data.CallbackInfos, func(row trace.CallbackInfo) uint64 { return uint64(row.Callback) })
	names := truth.callbackNames()
	for _, address := range slices.Sorted(maps.Keys(names)) {
		row, want := callbacks[address], names[address]
		if row.Kind != want.kind || row.TopicName != want.topic || row.NodeName != want.node || row.Period != want.period {
			t.Errorf("callback %#x: %+v, not %+v", address, row, want)
		}
		// From Jazzy on, programs tell the functions of callbacks to LTTng only; a timer's is in the name of its type.
		if row.Symbol == "" && (truth.Header.Distro == standin.Humble || want.kind == trace.KindTimer) {
			t.Errorf("callback %#x has no symbol", address)
		}
	}
	same(t, "callback_info", callbacks, len(names))
}

// latest returns the rows by the address of their entity. Of several, the last one counts.
func latest[T any](rows []T, address func(T) uint64) map[uint64]T {
	by := map[uint64]T{}
	for _, row := range rows {
		by[address(row)] = row
	}
	return by
}

func same[T any](t *testing.T, table string, rows map[uint64]T, want int) {
	t.Helper()
	if len(rows) != want {
		t.Errorf("table %s has %d entities, not %d: %+v", table, len(rows), want, rows)
	}
}

func expect[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// initialized requires the time of an initialization, which the ground truth knows to be over, and returns null.
func initialized(t *testing.T, data *dataset, at trace.Optional[int64], over uint64) trace.Optional[int64] {
	t.Helper()
	if !at.Valid || at.Value-data.Session.Clock.RealtimeOffset > int64(over) {
		t.Errorf("initialized at %+v, not before %d", at, over)
	}
	return trace.Optional[int64]{}
}
