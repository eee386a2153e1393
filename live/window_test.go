package live_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/live"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ms is a millisecond in nanoseconds.
const ms = int64(1e6)

// begun is when windows of these tests begin.
const begun = 1_000_000 * ms

func at(milliseconds int64) int64 { return begun + milliseconds*ms }

// ran is a callback that began at an instant and took so long.
func ran(node, topic string, address trace.Address, start, took int64) trace.Callback {
	return trace.Callback{
		ProcessKey: trace.ProcessKey{PID: 7, ProcessStart: 1}, TID: 7, Callback: address, Status: trace.CallbackComplete,
		Kind: trace.KindSubscription, NodeName: node, TopicName: topic,
		CallbackStartTimestamp: trace.Some(start), CallbackEndTimestamp: trace.Some(start + took), Overhead: trace.Some(took / 100),
	}
}

// sent is a message with a source timestamp that is the time of its publish.
func sent(topic string, publisher trace.Address, instant int64) trace.Publish {
	return trace.Publish{
		ProcessKey: trace.ProcessKey{PID: 8, ProcessStart: 1}, TID: 8, PublisherHandle: publisher, NodeName: "/talker", TopicName: topic,
		RclcppPublishTimestamp: trace.Some(instant), SourceTimestamp: trace.Some(instant),
	}
}

// got is a callback that got the message with a source timestamp.
func got(topic string, source, start int64) trace.Callback {
	row := ran("/listener", topic, 3, start, ms)
	row.SourceTimestamp = trace.Some(source)
	return row
}

func newWindow(t *testing.T, paths ...string) *live.Window {
	t.Helper()
	definitions, err := live.ParsePaths(paths)
	if err != nil {
		t.Fatal(err)
	}
	return live.NewWindow(10*time.Second, begun, new(live.Timers), definitions)
}

func isNear(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(b)) }

func TestCallbacks(t *testing.T) {
	w := newWindow(t)
	var b trace.Batch
	for i := range int64(100) {
		b.Callbacks = append(b.Callbacks, ran("/a", "/t", 1, at(i*10), (i+1)*ms/10)) // 0.1 to 10 ms
	}
	open := ran("/a", "/t", 1, at(1000), 0)
	open.CallbackEndTimestamp.Valid, open.Status = false, trace.CallbackUnwound
	b.Callbacks = append(b.Callbacks, open, ran("/a", "/t", 1, at(2000), ms)) // the last one is behind the span
	w.Look(&b)
	s := w.Snapshot(at(3000))
	if s.BeginNs != begun || s.EndNs != at(2000) || len(s.Callbacks) != 1 || s.Lost != 0 || s.Beyond != 0 {
		t.Fatalf("got %+v", s)
	}
	c := s.Callbacks[0]
	if c.Node != "/a" || c.Callback != "/t" || c.PID != 7 || !isNear(c.Rate, 101/2.) {
		t.Errorf("got %+v", c)
	}
	if c.P50 != trace.Some(5*ms) || c.P99 != trace.Some(99*ms/10) || c.Max != trace.Some(10*ms) {
		t.Errorf("the durations are %+v", c.Durations)
	}
	if want := 505. * 100 / 2000; !isNear(c.Load, want) || !isNear(c.Overhead, want/100) {
		t.Errorf("load %v and overhead %v, want %v and %v", c.Load, c.Overhead, want, want/100)
	}
	if n := s.Nodes[0]; len(s.Nodes) != 1 || n.Node != "/a" || n.Callbacks != c.Rate || n.Load != c.Load || n.Longest != c.Max || n.Overhead != c.Overhead {
		t.Errorf("the nodes are %+v", s.Nodes)
	}
}

// A callback within another one takes no time of its own from its node.
func TestNodesCountNestedCallbacksOnce(t *testing.T) {
	w := newWindow(t)
	inner := ran("/a", "/inner", 2, at(500), 100*ms)
	inner.Depth = 1
	w.Look(&trace.Batch{Callbacks: []trace.Callback{inner, ran("/a", "/outer", 1, at(400), 400*ms)}})
	s := w.Snapshot(at(2000))
	if len(s.Callbacks) != 2 || len(s.Nodes) != 1 || !isNear(s.Nodes[0].Load, 40) || !isNear(s.Callbacks[0].Load, 10) {
		t.Errorf("got %+v", s)
	}
}

// Of what lasts beyond the span, the part within it is load.
func TestLoadIsOfTheSpan(t *testing.T) {
	w := newWindow(t)
	w.Look(&trace.Batch{Callbacks: []trace.Callback{ran("/a", "/t", 1, at(900), 1000*ms)}})
	if s := w.Snapshot(at(2000)); !isNear(s.Callbacks[0].Load, 10) {
		t.Errorf("load %v of the first second", s.Callbacks[0].Load)
	}
	if s := w.Snapshot(at(12_500)); !isNear(s.Callbacks[0].Load, 4) || s.Callbacks[0].Rate != 0 {
		t.Errorf("load %v of what is from 1.5 s on", s.Callbacks[0].Load)
	}
}

func TestTheSpanMovesOn(t *testing.T) {
	w := newWindow(t)
	for second := range int64(30) {
		w.Look(&trace.Batch{Callbacks: []trace.Callback{ran("/a", "/t", 1, at(second*1000+500), second*ms)}})
	}
	s := w.Snapshot(at(30_000))
	if s.BeginNs != at(19_000) || s.EndNs != at(29_000) || !isNear(s.Callbacks[0].Rate, 1) || s.Callbacks[0].Max != trace.Some(28*ms) {
		t.Errorf("got %+v", s)
	}
	if s = w.Snapshot(at(60_000)); len(s.Callbacks) != 1 || s.Callbacks[0].Rate != 0 || s.Callbacks[0].Max.Valid {
		t.Errorf("what has ended: %+v", s.Callbacks)
	}
	if s = w.Snapshot(at(200_000)); len(s.Callbacks) != 0 {
		t.Errorf("what ended long ago: %+v", s.Callbacks)
	}
}

func TestTimersAreLate(t *testing.T) {
	timer := func(start int64) trace.Callback {
		row := ran("/a", "", 1, start, ms)
		row.Kind, row.Period, row.Symbol = trace.KindTimer, trace.Some(100*ms), "tick()"
		return row
	}
	rows := []trace.Callback{timer(at(103)), timer(at(201)), timer(at(307)), timer(at(402))}
	origin := trace.Timer{
		ProcessKey: trace.ProcessKey{PID: 7, ProcessStart: 1}, Callback: 1, Period: trace.Some(100 * ms), InitTimestamp: trace.Some(begun),
	}
	later := origin
	later.InitTimestamp = trace.Some(at(101))
	for name, test := range map[string]struct {
		batch trace.Batch
		late  trace.Optional[int64]
	}{
		"its init is known":       {trace.Batch{Callbacks: rows, Timers: []trace.Timer{origin}}, trace.Some(7 * ms)},
		"its init is not known":   {trace.Batch{Callbacks: rows}, trace.Some(6 * ms)},
		"its grid is uncertain":   {batch: trace.Batch{Callbacks: append([]trace.Callback{timer(at(53))}, rows...)}},
		"another timer was there": {trace.Batch{Callbacks: append([]trace.Callback{timer(at(40))}, rows...), Timers: []trace.Timer{later}}, trace.Some(6 * ms)},
	} {
		timers := new(live.Timers)
		timers.Look(&test.batch)
		w := live.NewWindow(10*time.Second, begun, timers, nil)
		w.Look(&test.batch)
		if s := w.Snapshot(at(2000)); s.Callbacks[0].LateP99 != test.late || s.Callbacks[0].Callback != "tick()" {
			t.Errorf("%s: got %+v", name, s.Callbacks)
		}
	}
}

func TestTopics(t *testing.T) {
	w := newWindow(t)
	publishes := []trace.Publish{
		sent("/t", 1, at(100)), sent("/t", 1, at(200)), sent("/t", 1, at(300)), sent("/t", 1, at(400)), sent("/t", 2, at(450)), sent("/silent", 3, at(500)),
	}
	service := ran("/server", "/t_service", 4, at(100), ms)
	service.Kind = trace.KindService
	callbacks := []trace.Callback{got("/t", at(100), at(105)), got("/t", at(300), at(309)), service}
	// A row of a publish may come after that of the callback that got its message.
	w.Look(&trace.Batch{Callbacks: callbacks})
	w.Look(&trace.Batch{Publishes: publishes})
	s := w.Snapshot(at(2000))
	want := []live.Topic{
		{Topic: "/silent", Published: trace.Some(1.)},
		{
			Topic: "/t", Node: "/listener", PID: 7, Published: trace.Some(5.), Received: trace.Some(2.),
			Durations: live.Durations{P50: trace.Some(5 * ms), P99: trace.Some(9 * ms), Max: trace.Some(9 * ms)}, Lost: trace.Some(uint64(1)),
		},
	}
	if !slices.Equal(s.Topics, want) {
		t.Errorf("got %+v\nwant %+v", s.Topics, want)
	}
	w.Look(&trace.Batch{Losses: []trace.Loss{{Kind: trace.LostPublish, Reason: trace.LossRingFull, Count: 3, FromTimestamp: at(300), ToTimestamp: at(400)}}})
	if s = w.Snapshot(at(2300)); s.Lost != 3 || s.Topics[1].Lost.Valid {
		t.Errorf("with lost records: %+v", s)
	}
}

// Of messages whose publisher is not recorded, nobody knows how many there were.
func TestTopicsOfUnknownPublishers(t *testing.T) {
	w := newWindow(t)
	w.Look(&trace.Batch{Callbacks: []trace.Callback{got("/t", at(100), at(105)), got("/t", at(300), at(309))}})
	want := []live.Topic{{Topic: "/t", Node: "/listener", PID: 7, Received: trace.Some(2.)}}
	if s := w.Snapshot(at(2000)); !slices.Equal(s.Topics, want) {
		t.Errorf("got %+v\nwant %+v", s.Topics, want)
	}
}

// What was got is not lost, also if its publish is forgotten by then, or told later.
func TestWhatWasGotIsNotLost(t *testing.T) {
	w := newWindow(t)
	var b trace.Batch
	for i := range int64(100) {
		b.Publishes = append(b.Publishes, sent("/t", 1, at(10*i)))
		if i != 50 {
			b.Callbacks = append(b.Callbacks, got("/t", at(10*i), at(10*i+1)))
		}
	}
	w.Look(&b)
	if s := w.Snapshot(at(2000)); s.Topics[0].Lost != trace.Some(uint64(1)) {
		t.Errorf("got %+v", s.Topics)
	}
	if first, again := w.Snapshot(at(2300)), w.Snapshot(at(2301)); first.EndNs != again.EndNs {
		t.Error("who asks twice at once gets two answers")
	}
}

// A message of a buffer is found by its place there.
func TestTopicsOfBuffers(t *testing.T) {
	w := newWindow(t)
	publish := sent("/t", 1, at(100))
	publish.SourceTimestamp.Valid, publish.EnqueueCount, publish.PublishNumber = false, 1, 5
	enqueue := trace.Enqueue{
		ProcessKey: publish.ProcessKey, TID: publish.TID, Buffer: 9, Index: trace.Some(uint64(2)), EnqueueTimestamp: at(101), PublishNumber: trace.Some(uint64(5)),
	}
	callback := ran("/listener", "/t", 3, at(112), ms)
	callback.ProcessKey = publish.ProcessKey
	callback.Buffer, callback.DequeueIndex, callback.DequeueTimestamp = 9, trace.Some(uint64(2)), trace.Some(at(110))
	w.Look(&trace.Batch{Publishes: []trace.Publish{publish}, Enqueues: []trace.Enqueue{enqueue}, Callbacks: []trace.Callback{callback}})
	s := w.Snapshot(at(2000))
	if len(s.Topics) != 1 || s.Topics[0].Max != trace.Some(12*ms) || s.Topics[0].Lost.Valid {
		t.Errorf("got %+v", s.Topics)
	}
}

func TestPaths(t *testing.T) {
	w := newWindow(t, "from=^/points$ to=^/control$")
	middle := got("/points", at(100), at(110))
	passedOn := sent("/control", 2, at(111))
	passedOn.ProcessKey, passedOn.TID, passedOn.CallbackStartTimestamp = middle.ProcessKey, middle.TID, middle.CallbackStartTimestamp
	w.Look(&trace.Batch{
		Publishes: []trace.Publish{sent("/points", 1, at(100)), passedOn},
		Callbacks: []trace.Callback{middle, got("/control", at(111), at(130))},
	})
	s := w.Snapshot(at(2000))
	if len(s.Paths) != 1 || s.Paths[0].From != "^/points$" || s.Paths[0].Max != trace.Some(30*ms) || !isNear(s.Paths[0].Rate, 1) {
		t.Errorf("got %+v", s.Paths)
	}
}

func TestParsePaths(t *testing.T) {
	for _, text := range []string{"", "from=a", "to=b", "from=a to=", "from=a to=b over=1s", "from=a from=b to=c", "from=( to=b", "a b"} {
		if _, err := live.ParsePaths([]string{text}); !errors.Is(err, live.ErrPath) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := live.ParsePaths(slices.Repeat([]string{"from=a to=b"}, live.MaxPaths+1)); !errors.Is(err, live.ErrPath) {
		t.Errorf("too many: %v", err)
	}
}

// Nothing makes a window keep more than its bounds, and what is left out is counted or makes the span shorter.
func TestBounds(t *testing.T) {
	w := newWindow(t)
	var b trace.Batch
	for i := range int64(1 << 13) {
		b.Callbacks = append(b.Callbacks, ran("/a", "/t", 1, at(i/4), ms))
	}
	for round := range int64(300) {
		for i := range b.Callbacks {
			b.Callbacks[i].CallbackStartTimestamp.Value += 2 * ms
			b.Callbacks[i].CallbackEndTimestamp.Value += 2 * ms
		}
		w.Look(&b)
		_ = round
	}
	s := w.Snapshot(at(4000))
	if s.BeginNs <= begun || len(s.Callbacks) != 1 || !s.Callbacks[0].Max.Valid {
		t.Errorf("the span is from %d on, and begins at %d", s.BeginNs, begun)
	}
	w = newWindow(t)
	b.Reset()
	for i := range int64(20_000) {
		b.Callbacks = append(b.Callbacks, ran("/a", "/t", trace.Address(i+1), at(i/20), ms))
		b.Publishes = append(b.Publishes, sent("/t", trace.Address(i+1), at(i/20)))
	}
	w.Look(&b)
	if s = w.Snapshot(at(3000)); s.Beyond == 0 || s.Beyond != 2*uint64(20_000-len(s.Callbacks)) {
		t.Errorf("%d callbacks are there, and %d rows are beyond", len(s.Callbacks), s.Beyond)
	}
}
