package analyze

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/trace/tracetest"
)

// strangersDataset writes rows of so many callbacks, publishers, subscriptions and services of which no table of
// entities tells. Each is in two rows, a second apart.
func strangersDataset(t *testing.T, strangers int) *trace.Dataset {
	t.Helper()
	dir := t.TempDir()
	key := trace.ProcessKey{BootID: "boot", PID: 1, ProcessStart: 1}
	var callbacks []trace.Callback
	var publishes []trace.Publish
	var takes []trace.Take
	var services []trace.Service
	for i := range 2 * strangers {
		address, at := trace.Address(i%strangers+1), int64(1000+i/strangers*1e9)
		callbacks = append(callbacks, trace.Callback{
			ProcessKey: key, Callback: address, CallbackStartTimestamp: trace.Some(at), CallbackEndTimestamp: trace.Some(at + 1), Status: trace.CallbackComplete,
		})
		publishes = append(publishes, trace.Publish{ProcessKey: key, PublisherHandle: address, TopicName: "/topic", RclPublishTimestamp: trace.Some(at)})
		takes = append(takes, trace.Take{
			ProcessKey: key, Kind: trace.TakeRMW, SubscriptionHandle: address, TopicName: "/topic", RMWTakeTimestamp: trace.Some(at), SourceTimestamp: trace.Some(at),
		})
		services = append(services, trace.Service{
			ProcessKey: key, Step: trace.RequestSent, ClientHandle: address, ServiceName: fmt.Sprint("/service", address), StepTimestamp: at, SequenceNumber: int64(i),
		})
	}
	tracetest.AddSegment(t, dir, 0, callbacks)
	tracetest.AddSegment(t, dir, 0, publishes)
	tracetest.AddSegment(t, dir, 0, takes)
	tracetest.AddSegment(t, dir, 0, services)
	tracetest.AddSession(t, dir, trace.NewSession())
	return tracetest.Open(t, dir)
}

// TestWhatOnlyRowsNameIsLimited: a question that would keep more fails with an error that says what to do, and one that
// keeps as much does not.
func TestWhatOnlyRowsNameIsLimited(t *testing.T) {
	const strangers = 10
	d := strangersDataset(t, strangers)
	for name, ask := range map[string]struct {
		kept int // beside the node of the process
		of   func(context.Context, *Query) error
	}{
		"callbacks": {strangers, func(ctx context.Context, q *Query) error {
			_, err := q.CallbackLatency(ctx, nil)
			return err
		}},
		"messages": {2 * strangers, func(ctx context.Context, q *Query) error {
			_, err := q.CommunicationLatency(ctx, nil)
			return err
		}},
		"services": {strangers - 1, func(ctx context.Context, q *Query) error {
			_, err := q.ServiceLatency(ctx, nil)
			return err
		}},
	} {
		for _, c := range []struct {
			room int
			want error
		}{{ask.kept, system.ErrTooManyUnknown}, {ask.kept + 1, nil}} {
			t.Run(fmt.Sprintf("%s, room for %d", name, c.room), func(t *testing.T) {
				q, err := NewQuery(t.Context(), Filter{}, d)
				if err != nil {
					t.Fatal(err)
				}
				q.unknown = system.NewUnknowns(&system.UnknownLimit{Entities: c.room, Text: 1000})
				if err := ask.of(t.Context(), q); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		}
	}
}

// A shorter part of the recording is answered, as the error says.
func TestAShorterPartNamesLess(t *testing.T) {
	const strangers = 10
	q, err := NewQuery(t.Context(), Filter{From: trace.Some(int64(2e9))}, strangersDataset(t, strangers))
	if err != nil {
		t.Fatal(err)
	}
	q.unknown = system.NewUnknowns(&system.UnknownLimit{Entities: 1, Text: 1000})
	if results, err := q.CallbackLatency(t.Context(), nil); err != nil || len(results) > 0 {
		t.Errorf("%d callbacks, %v", len(results), err)
	}
}
