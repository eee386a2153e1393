package entities

import (
	"context"
	"errors"

	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/trace"
)

// Snapshot is what a scan found in the memory of a process.
type Snapshot struct {
	// Begin is when the scan began, in nanoseconds of the dataset's clock: what was created later may be missing.
	Begin int64
	// End is when the scan ended, on the same clock. What was found may have come just before.
	End int64
	// Entities are rows without process keys. A callback's row tells the function only; the rest is its owner's to tell.
	Entities trace.Batch
	// Adapted are the publishers, by rcl handle, whose class does not tell the type of their messages: the messages that
	// they hand over intra-process may be of another type (rclcpp::TypeAdapter).
	Adapted map[trace.Address]bool
	// Scanned is the memory read, in bytes; Skipped lists what was not, an empty range if it is not known where it lies.
	Scanned uint64
	Skipped []Skipped
}

// The mangled names of the classes that a scan looks for.
const (
	nodeBaseName         = "N6rclcpp15node_interfaces8NodeBaseE"
	publisherBaseName    = "N6rclcpp13PublisherBaseE"
	subscriptionBaseName = "N6rclcpp16SubscriptionBaseE"
)

// Scanner scans one process after the other, in memory of its own that it uses again. The zero value is ready.
type Scanner struct{ memory scanMemory }

// Scan is that of a new Scanner.
func Scan(ctx context.Context, space Space, layout *layouts.Layout, begin int64) (*Snapshot, error) {
	return new(Scanner).Scan(ctx, space, layout, begin)
}

// Scan finds the entities in the memory of a process: every object of rclcpp's classes that is alive, and what its
// members lead to. It reads only what is in RAM, stops when the context ends, and takes about a second for two
// gigabytes. begin is the present on the dataset's clock.
//
// The Snapshot holds what was found even if there is an error: the context's, or target.ErrExited if the process ended
// meanwhile. Scan uses no Graph; space must not be used otherwise while it runs.
func (scanner *Scanner) Scan(ctx context.Context, space Space, layout *layouts.Layout, begin int64) (*Snapshot, error) {
	scanner.memory.reuse()
	cache := newConstantCache(space, &scanner.memory)
	s := newSurvey(reader{view{memory: cache}, layout})
	c := &census{
		space: space, memory: &scanner.memory, classes: s.classes, vtables: make(map[uint64]*class),
		wanted: []string{nodeBaseName, publisherBaseName, subscriptionBaseName, executorName, contextName, lifecycleNodeName},
	}
	err := c.take(ctx)
	if surveyed := s.all(ctx, c.found, c.mappings); err == nil {
		err = surveyed
	}
	if errors.Is(err, errManyReads) {
		c.skip(0, 0, err.Error())
		err = nil
	}
	return &Snapshot{Begin: begin, Entities: s.rows, Adapted: s.adapted, Scanned: c.scanned, Skipped: c.skipped}, err
}
