package analyze_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// recording builds a dataset by hand: nodes with publishers, subscriptions and callbacks, and what they did.
type recording struct {
	t       *testing.T
	dir     string
	key     trace.ProcessKey
	next    trace.Address
	rows    trace.Batch
	session *trace.Session
}

func newRecording(t *testing.T) *recording {
	t.Helper()
	return &recording{t: t, dir: t.TempDir(), key: processKey(100), next: 0x1000, session: trace.NewSession()}
}

var robot = processKey(100)

func processKey(pid int32) trace.ProcessKey {
	return trace.ProcessKey{BootID: "boot", PID: pid, ProcessStart: int64(pid) * 1000}
}

func (s *recording) address() trace.Address {
	s.next += 0x10
	return s.next
}

type testNode struct {
	name   string
	key    trace.ProcessKey
	handle trace.Address
}

// node adds a node to the process that is current.
func (s *recording) node(name string) testNode {
	n := testNode{name, s.key, s.address()}
	s.rows.Nodes = append(s.rows.Nodes, trace.Node{ProcessKey: n.key, NodeHandle: n.handle, NodeName: name[1:], Namespace: "/", Provenance: trace.FromMemory})
	return n
}

type testPublisher struct {
	node   testNode
	handle trace.Address
	topic  string
	gid    string
}

func (s *recording) publisher(n testNode, topic, gid string) testPublisher {
	p := testPublisher{n, s.address(), topic, gid}
	s.rows.Publishers = append(s.rows.Publishers, trace.Publisher{
		ProcessKey: n.key, PublisherHandle: p.handle, NodeHandle: n.handle, TopicName: topic, NodeName: n.name, GID: gid, Provenance: trace.FromMemory,
	})
	return p
}

type testSubscription struct {
	node                            testNode
	handle, callback, intra, buffer trace.Address
	topic                           string
}

func (s *recording) subscription(n testNode, topic string) testSubscription {
	sub := testSubscription{node: n, handle: s.address(), callback: s.address(), topic: topic}
	s.rows.Subscriptions = append(s.rows.Subscriptions, trace.Subscription{
		ProcessKey: n.key, SubscriptionHandle: sub.handle, NodeHandle: n.handle, TopicName: topic, NodeName: n.name, Subscription: s.address(),
		Callback: sub.callback, IsIntraProcess: trace.Some(false), Provenance: trace.FromMemory,
	})
	return sub
}

// intraProcessSubscription adds one that has a buffer, too.
func (s *recording) intraProcessSubscription(n testNode, topic string) testSubscription {
	sub := s.subscription(n, topic)
	sub.intra, sub.buffer = s.address(), s.address()
	s.rows.Subscriptions = append(s.rows.Subscriptions, trace.Subscription{
		ProcessKey: n.key, SubscriptionHandle: sub.handle, NodeHandle: n.handle, TopicName: topic, NodeName: n.name, Subscription: s.address(),
		Callback: sub.intra, IsIntraProcess: trace.Some(true), Buffer: sub.buffer, Provenance: trace.FromMemory,
	})
	return sub
}

// timer adds a timer and returns its callback.
func (s *recording) timer(n testNode, period int64) trace.Address {
	callback := s.address()
	s.rows.Timers = append(s.rows.Timers, trace.Timer{
		ProcessKey: n.key, TimerHandle: s.address(), Period: trace.Some(period), NodeHandle: n.handle, NodeName: n.name, Callback: callback, Provenance: trace.FromMemory,
	})
	return callback
}

// runs adds an execution of a callback that no message started.
func (s *recording) runs(n testNode, callback trace.Address, start, end int64) {
	s.rows.Callbacks = append(s.rows.Callbacks, trace.Callback{
		ProcessKey: n.key, Callback: callback, CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(end),
		Status: trace.CallbackComplete, Provenance: trace.FromTracepoint,
	})
}

// receives adds an execution that the message with the source timestamp started.
func (s *recording) receives(sub testSubscription, gid string, source, start, end int64) {
	s.rows.Callbacks = append(s.rows.Callbacks, trace.Callback{
		ProcessKey: sub.node.key, Callback: sub.callback, CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(end),
		Status: trace.CallbackComplete, SourceTimestamp: trace.Some(source), RMWTakeTimestamp: trace.Some(start), PublisherGID: gid, Provenance: trace.FromTracepoint,
	})
}

// dequeues adds an execution that the message in a slot started.
func (s *recording) dequeues(sub testSubscription, index uint64, start, end int64) {
	s.rows.Callbacks = append(s.rows.Callbacks, trace.Callback{
		ProcessKey: sub.node.key, Callback: sub.intra, CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(end),
		Status: trace.CallbackComplete, Buffer: sub.buffer, DequeueIndex: trace.Some(index), DequeueTimestamp: trace.Some(start), Provenance: trace.FromTracepoint,
	})
}

// polls adds a take in a callback's execution; none with address 0.
func (s *recording) polls(sub testSubscription, gid string, source, at int64, callback trace.Address, start int64) {
	take := trace.Take{
		ProcessKey: sub.node.key, Kind: trace.TakeRMW, SubscriptionHandle: sub.handle, TopicName: sub.topic, SourceTimestamp: trace.Some(source), RMWTakeTimestamp: trace.Some(at),
		PublisherGID: gid, Callback: callback, Provenance: trace.FromTracepoint,
	}
	if callback != 0 {
		take.CallbackStartTimestamp = trace.Some(start)
	}
	s.rows.Takes = append(s.rows.Takes, take)
}

// publishes adds a publish through the middleware, in a callback's execution or, with address 0, outside of callbacks.
func (s *recording) publishes(p testPublisher, at, source int64, callback trace.Address, start int64) {
	row := trace.Publish{
		ProcessKey: p.node.key, PublisherHandle: p.handle, RclcppPublishTimestamp: trace.Some(at), RclPublishTimestamp: trace.Some(at),
		RMWPublishTimestamp: trace.Some(at), SourceTimestamp: trace.Some(source), Status: trace.PublishComplete, Callback: callback,
		PublishNumber: uint64(len(s.rows.Publishes)), Provenance: trace.FromTracepoint,
	}
	if callback != 0 {
		row.CallbackStartTimestamp = trace.Some(start)
	}
	s.rows.Publishes = append(s.rows.Publishes, row)
}

// publishesIntra adds a publish into the slots of buffers.
func (s *recording) publishesIntra(p testPublisher, at int64, index uint64, to ...testSubscription) {
	number := uint64(len(s.rows.Publishes))
	s.rows.Publishes = append(s.rows.Publishes, trace.Publish{
		ProcessKey: p.node.key, PublisherHandle: p.handle, RclcppIntraPublishTimestamp: trace.Some(at), EnqueueCount: uint32(len(to)),
		PublishNumber: number, Status: trace.PublishComplete, Provenance: trace.FromTracepoint,
	})
	for _, sub := range to {
		s.rows.Enqueues = append(s.rows.Enqueues, trace.Enqueue{
			ProcessKey: p.node.key, Buffer: sub.buffer, Index: trace.Some(index), Size: 1, EnqueueTimestamp: at + 1, PublishNumber: trace.Some(number), Provenance: trace.FromTracepoint,
		})
	}
}

// write writes the dataset and opens it.
func (s *recording) write() *trace.Dataset {
	s.t.Helper()
	tracetest.AddSession(s.t, s.dir, s.session)
	for _, table := range trace.Registry() {
		if err := os.RemoveAll(filepath.Join(s.dir, table.Name)); err != nil {
			s.t.Fatal(err)
		}
	}
	tracetest.AddSegments(s.t, s.dir, 0, &s.rows)
	d, err := trace.Open(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *recording) query(filter analyze.Filter) *analyze.Query {
	s.t.Helper()
	return newQuery(s.t, filter, s.write())
}

func newQuery(t *testing.T, filter analyze.Filter, datasets ...*trace.Dataset) *analyze.Query {
	t.Helper()
	q, err := analyze.NewQuery(t.Context(), filter, datasets...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
