package programs

import (
	"context"
	"fmt"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Span says when a program was recorded, on its own clock (CLOCK_MONOTONIC). The recording began between OpenFrom and
// OpenTo and ended between CloseFrom and CloseTo.
type Span struct{ OpenFrom, OpenTo, CloseFrom, CloseTo uint64 }

// Recording is what was recorded of a program.
type Recording struct {
	Span Span
	// Offset is what the recording's clock is ahead of the program's.
	Offset        int64
	Callbacks     []trace.Callback
	CallbackInfos []trace.CallbackInfo
	Publishes     []trace.Publish
	Takes         []trace.Take
	Services      []trace.Service
	Lifecycles    []trace.Lifecycle
	// Passages are the messages that were published, with what became of them, as `latency communication` tells it.
	Passages []analyze.CommunicationInstance
}

// ReadRecording reads the dataset in a directory.
func ReadRecording(ctx context.Context, dir string, span Span) (*Recording, error) {
	d, err := trace.Open(dir)
	if err != nil {
		return nil, err
	}
	r := &Recording{Span: span, Offset: d.Session().Clock.RealtimeOffset}
	for _, losses := range d.Session().Losses {
		return nil, fmt.Errorf("%d records of kind %s were lost", losses.Count, losses.Kind)
	}
	for _, err := range []error{
		readTable(ctx, d, trace.TableCallback, &r.Callbacks), readTable(ctx, d, trace.TableCallbackInfo, &r.CallbackInfos),
		readTable(ctx, d, trace.TablePublish, &r.Publishes), readTable(ctx, d, trace.TableTake, &r.Takes),
		readTable(ctx, d, trace.TableService, &r.Services), readTable(ctx, d, trace.TableLifecycle, &r.Lifecycles),
	} {
		if err != nil {
			return nil, err
		}
	}
	query, err := analyze.NewQuery(ctx, analyze.Filter{}, d)
	if err != nil {
		return nil, err
	}
	_, err = query.CommunicationLatency(ctx, func(passages []analyze.CommunicationInstance) error {
		r.Passages = append(r.Passages, passages...)
		return nil
	})
	return r, err
}

func readTable[T any](ctx context.Context, d *trace.Dataset, table string, into *[]T) error {
	err := trace.Scan(ctx, d, table, func(rows []T) error {
		*into = append(*into, rows...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("table %s: %w", table, err)
	}
	return nil
}
