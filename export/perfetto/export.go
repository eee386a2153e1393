// Package perfetto writes recordings as traces for Perfetto (ui.perfetto.dev, trace_processor), as protocol buffers
// encoded by hand.
package perfetto

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Options say what a trace has and how it is written.
type Options struct {
	Compression Compression
	// Paths are those whose messages are drawn, by PathOptions.
	Paths       []*system.Path
	PathOptions analyze.PathOptions
	// TaskStates says that what threads did is also written as states of the kernel's scheduler.
	TaskStates bool
}

// Summary counts what a trace has.
type Summary struct {
	Callbacks, Publishes, Polls uint64
	// Flows are messages that are drawn from their publish to a callback or a poll.
	Flows uint64
	// Ways are those of messages along paths.
	Ways uint64
	// Calls are those of services, and of actions.
	Calls uint64
	// Transitions are those of managed nodes.
	Transitions uint64
	// Waits are those of executors' threads.
	Waits uint64
	// TimesOffCPU are those of threads.
	TimesOffCPU uint64
	// TaskStates are those of threads, if they are asked for.
	TaskStates uint64
	// Overlapping are callbacks that overlap others of their thread, so that they have tracks of their own: the dataset
	// contradicts itself.
	Overlapping uint64
	Bytes       int64
}

// IsEmpty reports whether the trace has nothing that programs did.
func (s *Summary) IsEmpty() bool {
	return s.Callbacks+s.Publishes+s.Polls+s.Calls+s.Transitions+s.Waits+s.TimesOffCPU == 0
}

// Write writes the trace of what a query to a dataset is about. The first error of out ends it. It wraps
// analyze.ErrNoTimesOffCPU if states of threads are asked for and no time off the CPU is recorded.
func Write(ctx context.Context, out io.Writer, dataset *trace.Dataset, query *analyze.Query, options Options) (Summary, error) {
	var summary Summary
	packets, err := newPacketWriter(out, options.Compression)
	if err != nil {
		return summary, err
	}
	span, _, err := query.TimeSpan(ctx)
	if err != nil {
		return summary, err
	}
	d := newDrawing(packets, &summary)
	d.last = span.Last
	d.snapshot(dataset.Session(), span)
	processes := query.Architecture.Processes
	for i := range processes {
		d.known[processes[i].ProcessKey] = &processes[i]
	}
	if err := d.drawAll(ctx, dataset, query, options); err != nil {
		return summary, err
	}
	d.finish()
	packets.flush()
	summary.Bytes = packets.written
	if packets.err != nil {
		return summary, fmt.Errorf("write trace: %w", packets.err)
	}
	return summary, nil
}

func (d *drawing) drawAll(ctx context.Context, dataset *trace.Dataset, query *analyze.Query, options Options) error {
	if options.TaskStates {
		if rows, err := trace.Count(ctx, dataset, trace.TableSched); err == nil && rows == 0 {
			return analyze.ErrNoTimesOffCPU
		}
	}
	losses := newDrawnLosses(d)
	if err := query.Losses(ctx, losses.add); err != nil {
		return err
	}
	withParts, err := hasTimesOffCPU(ctx, dataset)
	if err != nil {
		return err
	}
	if err := d.timeline(ctx, query, withParts); err != nil {
		return err
	}
	for _, draw := range []func() error{
		func() error { _, err := query.ServiceLatency(ctx, newDrawnServices(d).add); return err },
		func() error { return query.Transitions(ctx, newDrawnTransitions(d).add) },
		func() error { return query.Waits(ctx, newDrawnWaits(d).add) },
		func() error { return query.TimesOffCPU(ctx, newDrawnTimesOffCPU(d).add) },
		func() error { return query.SimTimes(ctx, newDrawnSimTimes(d).add) },
		func() error { return d.states(ctx, query, options) },
	} {
		if err := draw(); err != nil {
			return err
		}
	}
	if len(options.Paths) == 0 {
		return nil
	}
	var parts wayParts
	if withParts {
		if parts, err = readWayParts(ctx, query, &options); err != nil {
			return err
		}
	}
	ways := newDrawnWays(d, parts)
	_, err = query.PathLatency(ctx, options.Paths, options.PathOptions, func(hops []analyze.PathHopInstance) error {
		for i := range hops {
			ways.add(&hops[i])
		}
		return d.err
	})
	ways.end()
	return err
}

// states draws what threads did, if that is asked for.
func (d *drawing) states(ctx context.Context, query *analyze.Query, options Options) error {
	if !options.TaskStates {
		return nil
	}
	again, err := query.Again(ctx)
	if err != nil {
		return err
	}
	return again.ThreadStates(ctx, newTaskStates(d).add)
}

// timeline draws callbacks, publishes and polls, withParts with what went before callbacks.
func (d *drawing) timeline(ctx context.Context, query *analyze.Query, withParts bool) error {
	if withParts {
		beside, err := query.Again(ctx)
		if err != nil {
			return err
		}
		d.delays = newDelays(ctx, beside)
	}
	err := query.Timeline(ctx, func(a *analyze.TimelineWindow) error {
		d.window(a)
		return d.err
	})
	if d.delays != nil {
		err = errors.Join(err, d.delays.close())
	}
	return err
}

// snapshot tells how the clocks belong together. Times of a dataset are monotonic ones plus a constant, which is the
// offset to real time when the recording began: the trace has them as they are, as real time.
func (d *drawing) snapshot(session *trace.Session, span trace.Span) {
	clock := func(id, at uint64) []byte { return appendVarint(appendVarint(nil, clockID, id), clockTimestamp, at) }
	realtime := span.First
	var b []byte
	if session != nil && session.Clock.MonotonicTimestamp != 0 {
		realtime = session.Clock.MonotonicTimestamp + session.Clock.RealtimeOffset
		b = appendBytes(b, snapshotClocks, clock(clockMonotonic, uint64(session.Clock.MonotonicTimestamp)))
	}
	b = appendBytes(b, snapshotClocks, clock(clockRealtime, uint64(realtime)))
	d.message(packetClockSnapshot, appendVarint(b, snapshotPrimaryClock, clockRealtime))
}
