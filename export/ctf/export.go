// Package ctf writes recordings as traces in the Common Trace Format 1.8, laid out as LTTng-UST lays out its own: for
// caret_analyze, babeltrace2 and Trace Compass.
package ctf

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Options say what a trace has and whose its files are.
type Options struct {
	// Span is the time that the trace is about; the zero value is all. What tells of entities is always in it.
	Span trace.Span
	// Processes are those that the trace is about; all if there is none.
	Processes []int32
	// As makes the files; nil is the program itself.
	As *identity.Identity
	// SortBytes is how much memory is used for bringing events into the order of time; 0 is 32 MiB. What is more waits in
	// a file beside the trace that has no name.
	SortBytes int
}

// covers reports whether the trace is about a part of that time.
func (o *Options) covers(from, to int64) bool {
	return o.Span == trace.Span{} || to >= o.Span.First && from <= o.Span.Last
}

// Summary counts what a trace has.
type Summary struct {
	// Events are all events, Hits those of what ran.
	Events, Hits uint64
	// Synthesised are events that were not recorded and follow from what was: of executors and takes.
	Synthesised uint64
	Bytes       int64
	// Lost is how much of it the recording has lost, which the trace tells of.
	Lost uint64
	// LeftOut counts events that are not in the trace, and values in it that are not known, by what a reader is to know of
	// them, such as "ros2:rclcpp_ring_buffer_enqueue without index".
	LeftOut map[string]uint64
	// Damaged are segments that could not be read, or not to their ends.
	Damaged []*trace.SegmentError
}

// Write makes a directory with the trace of a dataset. Its file of metadata comes last: without it no program takes the
// directory for a trace. After an error nothing is left of it.
func Write(ctx context.Context, dir string, dataset *trace.Dataset, options Options) (summary Summary, err error) {
	folder, err := makeFolder(dir, options.As)
	if err != nil {
		return summary, err
	}
	if err = folder.close(writeIn(ctx, folder, dataset, options, &summary)); err != nil {
		return Summary{}, fmt.Errorf("write trace: %w", err)
	}
	return summary, nil
}

func writeIn(ctx context.Context, folder *folder, dataset *trace.Dataset, options Options, summary *Summary) error {
	sorter := newSorter(folder, options.SortBytes)
	defer sorter.close()
	c := newCollector(sorter, options)
	if err := c.collect(ctx, dataset); err != nil {
		return err
	}
	losses, err := c.losses(ctx, dataset)
	if err != nil {
		return err
	}
	identifier := uuid.New()
	streams := newStreams(folder, identifier, losses)
	if err := sorter.each(ctx, streams.add); err != nil {
		return err
	}
	if err := streams.finish(); err != nil {
		return err
	}
	if err := folder.write("metadata", describe(identifier, dataset.Session())); err != nil {
		return err
	}
	*summary = Summary{Events: streams.events, Hits: c.hitCount, Synthesised: c.synthesisedCount, Bytes: folder.bytes, Lost: losses.total(), LeftOut: c.leftOut, Damaged: c.damaged}
	return nil
}
