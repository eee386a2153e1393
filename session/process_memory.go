package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/merge"
)

// openedMemory is a process's memory with what is needed to understand it. It is opened while nobody waits: to read the
// libraries of a process can take long, and while the merger is locked no record of any process is read.
type openedMemory struct {
	memory *entities.ProcessMemory // nil where it cannot be read or understood, and when it was taken
	named  namedMemory             // the same
	layout *layouts.Layout
	lost   func() bool // lostInits.meanwhile
}

// openMemory opens the memory of a process, as far as that is possible and understood, and warns where it is not.
// Whoever does not take it closes it.
func (s *Session) openMemory(ctx context.Context, entry *process) *openedMemory {
	opened := &openedMemory{lost: func() bool { return s.lostInits.meanwhile(s.loader.LostInits) }}
	if !entry.ros2 || entry.target.Distro == distros.Unknown {
		return opened
	}
	// Records are read when the recording is over, too.
	memory, err := entities.OpenMemory(context.WithoutCancel(ctx), entry.target)
	if err != nil {
		s.journal.warn(fmt.Errorf("what exists already in PID %d stays without names: %w", entry.row.PID, err))
		return opened
	}
	layout, err := entities.LayoutOf(ctx, entry.target)
	switch {
	case ctx.Err() != nil: // the recording is over
		s.journal.warn(memory.Close())
	case err != nil:
		s.journal.warn(fmt.Errorf("what exists already in PID %d stays without names: %w", entry.row.PID, errors.Join(err, memory.Close())))
	default:
		s.warnOfDifferences(entry, layout)
		opened.memory, opened.named, opened.layout = memory, namedMemory{memory, s, entry.payer}, layout
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
		merged.Graph.SetMemory(watchedMemory{o.named, o.lost}, o.layout)
		merged.Memory = o.memory
	}
}

// readAnew gives the merger what is known now of a process that it knows: its memory, and its implementation of rmw.
func (s *Session) readAnew(ctx context.Context, entry *process) {
	opened := s.openMemory(ctx, entry)
	s.journal.warn(s.merger.Update(entry.row.PID, func(merged *merge.Process) error {
		if merged.Key != entry.row.ProcessKey {
			return nil
		}
		merged.RMWImplementation = entry.row.RMWImplementation
		err := merged.CloseMemory()
		opened.take().give(merged)
		return err
	}))
	s.journal.warn(opened.close())
}

// warnOfDifferences says when a process has other builds of rcl and rclcpp than are known.
func (s *Session) warnOfDifferences(entry *process, layout *layouts.Layout) {
	if len(layout.Differences) == 0 {
		return
	}
	s.journal.warn(fmt.Errorf("PID %d has other builds than the known releases of %s; what their accessor functions tell is used, other members "+
		"may have moved, too: %v", entry.row.PID, layout.Distro, layout.Differences))
}
