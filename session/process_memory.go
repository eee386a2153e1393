package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// openedMemory is a process's memory with what is needed to understand it. It is opened while nobody waits: to read the
// libraries of a process can take long, and while the merger is locked no record of any process is read.
type openedMemory struct {
	memory *entities.ProcessMemory // nil where it cannot be read or understood, and when it was taken
	named  namedMemory             // the same
	layout *layouts.Layout
	lost   func() bool // as of memories
	unread func(pid int32, address uint64) bool
}

// memories opens the memory of processes. Its method may be called from several goroutines.
type memories struct {
	lost func() bool // reports whether initialization events may have been lost that the merger has not heard of
	// unread reports whether there is one that it has not merged, about an address.
	unread  func(pid int32, address uint64) bool
	naming  *naming
	layouts *entities.Layouts
	journal *journal
}

// open opens the memory of a process, as far as that is possible and understood, and warns where it is not.
// Whoever does not take it closes it.
func (m *memories) open(ctx context.Context, entry *process) *openedMemory {
	opened := &openedMemory{lost: m.lost, unread: m.unread}
	if !entry.ros2 || entry.target.Distro == distros.Unknown {
		return opened
	}
	// Records are read when the recording is over, too.
	memory, err := entities.OpenMemory(context.WithoutCancel(ctx), entry.target)
	if err != nil {
		m.journal.warn(fmt.Errorf("what exists already in PID %d stays without names: %w", entry.row.PID, err))
		return opened
	}
	layout, err := m.layouts.Of(ctx, entry.target)
	switch {
	case ctx.Err() != nil: // the recording is over
		m.journal.warn(memory.Close())
	case err != nil:
		m.journal.warn(fmt.Errorf("what exists already in PID %d stays without names: %w", entry.row.PID, errors.Join(err, memory.Close())))
	default:
		m.warnOfDifferences(entry, layout)
		opened.memory, opened.named, opened.layout = memory, namedMemory{memory, m.naming, entry.payer}, layout
	}
	return opened
}

// take hands the memory over, with a copy for the caller.
func (o *openedMemory) take() openedMemory {
	taken := *o
	o.memory = nil
	return taken
}

// close closes what was not taken.
func (o *openedMemory) close() error {
	if o.memory == nil {
		return nil
	}
	return o.take().memory.Close()
}

// mergedProcess is the merger's view of a process.
func mergedProcess(entry *process, opened openedMemory) *merge.Process {
	merged := &merge.Process{
		Key: entry.row.ProcessKey, Graph: newGraph(entry.row.ProcessKey, entry.target.Account()), RMWImplementation: entry.row.RMWImplementation,
	}
	opened.give(merged)
	return merged
}

// give lets the graph of a process without memory read this one.
func (o openedMemory) give(merged *merge.Process) {
	if o.memory != nil {
		pid := merged.Key.PID
		merged.Graph.SetMemory(watchedMemory{o.named, o.lost}, o.layout)
		merged.Graph.WatchUnread(func(address trace.Address) bool { return o.unread(pid, uint64(address)) })
		merged.Memory = o.memory
	}
}

// warnOfDifferences says when a process has other builds of rcl and rclcpp than are known.
func (m *memories) warnOfDifferences(entry *process, layout *layouts.Layout) {
	if len(layout.Differences) == 0 {
		return
	}
	m.journal.warn(fmt.Errorf("PID %d has other builds than the known releases of %s; what their accessor functions tell is used, other members "+
		"may have moved, too: %v", entry.row.PID, layout.Distro, layout.Differences))
}
