package follow_test

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/follow"
	"github.com/caret-bpf/caret-bpf/trace"
)

// second is one in nanoseconds.
const second = int64(1e9)

func published(topic string, source, in int64) trace.Publish {
	row := trace.Publish{TID: 5, TopicName: topic, RclcppPublishTimestamp: trace.Some(source), SourceTimestamp: trace.Some(source)}
	if in != 0 {
		row.CallbackStartTimestamp = trace.Some(in)
	}
	return row
}

func got(topic string, source, start int64) trace.Callback {
	return trace.Callback{TID: 5, TopicName: topic, CallbackStartTimestamp: trace.Some(start), SourceTimestamp: trace.Some(source)}
}

// newPath is from one topic to another.
func newPath(from, to string) *follow.Path {
	return &follow.Path{Begins: func(topic string) bool { return topic == from }, Ends: func(topic string) bool { return topic == to }}
}

// A message is followed in whichever order its rows come, and once.
func TestPathInAnyOrder(t *testing.T) {
	rows := []*trace.Batch{
		{Publishes: []trace.Publish{published("/points", 1*second, 0)}},
		{Callbacks: []trace.Callback{got("/points", 1*second, 2*second)}},
		{Publishes: []trace.Publish{published("/control", 3*second, 2*second)}},
		{Callbacks: []trace.Callback{got("/control", 3*second, 4*second)}},
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {3, 0, 2, 1}, {1, 3, 0, 2}} {
		p := newPath("/points", "/control")
		var took []int64
		arrived := func(row *trace.Callback, begin follow.Message) {
			if begin.Topic != "/points" {
				t.Errorf("it began with %q", begin.Topic)
			}
			took = append(took, row.CallbackStartTimestamp.Value-begin.At)
		}
		for _, i := range order {
			p.Look(rows[i], arrived)
		}
		p.Tick(5*second, arrived)
		p.Tick(6*second, arrived)
		if !slices.Equal(took, []int64{3 * second}) || p.Beyond() != 0 {
			t.Errorf("order %v: it took %v, %d beyond", order, took, p.Beyond())
		}
	}
}

// What never comes is waited for in bounded memory, and what there is no room for is counted.
func TestPathWaitsInBounds(t *testing.T) {
	p := newPath("/points", "/control")
	never := func(*trace.Callback, follow.Message) { t.Error("a message arrived that nobody published") }
	var b trace.Batch
	for i := range int64(10_000) {
		b.Callbacks = append(b.Callbacks, got("/control", i+1, second+i))
	}
	p.Look(&b, never)
	if got := p.Beyond(); got != 10_000-8192 {
		t.Errorf("%d of 10,000 had no room", got)
	}
	p.Tick(100*second, never)
	if got := p.Beyond(); got != 10_000-8192 {
		t.Errorf("%d are beyond, though nothing was forgotten", got)
	}
}

func TestPublishedIsTheFirstLayer(t *testing.T) {
	some := trace.Some[int64]
	for _, test := range []struct {
		row  trace.Publish
		want int64
		ok   bool
	}{
		{trace.Publish{}, 0, false},
		{trace.Publish{DDSBindAddrToStampTimestamp: some(5)}, 5, true},
		{trace.Publish{RclPublishTimestamp: some(3), RMWPublishTimestamp: some(4)}, 3, true},
		{trace.Publish{RclcppIntraPublishTimestamp: some(1), RclcppPublishTimestamp: some(2)}, 1, true},
	} {
		if at, ok := follow.PublishedAt(&test.row); at != test.want || ok != test.ok {
			t.Errorf("%+v was published at %d, %v", test.row, at, ok)
		}
	}
}
