package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// add begins to record a process that maps ROS 2, or may do so later, by the plan that was made for it.
func (f *follower) add(ctx context.Context, p *target.Process, first planning) error {
	pid := p.PID
	entry := f.admission.enroll(ctx, p)
	if entry == nil {
		return fmt.Errorf("%w: PID %d", target.ErrNoProcess, pid)
	}
	if !f.configuration.All {
		if err := f.admission.list(entry); err != nil {
			return err
		}
	}
	if entry.target != nil && entry.target != p {
		return f.attach(ctx, entry) // it was met before, by one of its records
	}
	return f.attachPlan(ctx, entry, first)
}

// retryPause is how long a process is left alone to which not everything could be attached: planning takes a part of a
// second where there are hundreds of libraries.
const retryPause = 10 * time.Second

// attach attaches what the process maps now, or will, and is not attached yet.
func (f *follower) attach(ctx context.Context, entry *process) error {
	return f.attachPlan(ctx, entry, f.planner.plan(ctx, entry.target))
}

func (f *follower) attachPlan(ctx context.Context, entry *process, made planning) error {
	if made.err != nil && (entry.ros2 || !errors.Is(made.err, probes.ErrRequiredMissing)) {
		entry.retry = time.Now().Add(retryPause)
		if ctx.Err() == nil && !errors.Is(made.err, target.ErrNoProcess) && !f.isOverAndSeen(entry, made.err) {
			entry.noteUnplanned()
		}
		return made.err
	}
	entry.unplanned = 0
	err := f.attacher.Attach(ctx, entry.probed, made.plan)
	if err != nil {
		entry.retry = time.Now().Add(retryPause)
		return err
	}
	entry.retry = time.Time{}
	if entry.recorded || !entry.ros2 {
		return nil
	}
	f.processes.mu.Lock()
	entry.recorded = true
	f.processes.mu.Unlock()
	// Listed already, unless everything is recorded: then only its exec and exit depend on it.
	return f.admission.list(entry)
}

// isOverAndSeen reports whether a process could not be planned because it runs another program now, and all that it had
// mapped is probed for every process: say a child that executes a program as soon as it was forked.
func (f *follower) isOverAndSeen(entry *process, err error) bool {
	return errors.Is(err, target.ErrReplaced) && f.blind.isProbedForAll(entry, readClock(unix.CLOCK_MONOTONIC))
}

// refresh looks at a process's mappings and attaches what came.
func (f *follower) refresh(ctx context.Context, entry *process) error {
	ros2, distro, rmw := entry.ros2, entry.row.Distro, entry.row.RMWImplementation
	began := readClock(unix.CLOCK_MONOTONIC)
	changes, err := entry.target.Refresh(ctx)
	if errors.Is(err, target.ErrReplaced) {
		return f.replace(ctx, entry)
	}
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, target.ErrNoProcess) {
			entry.noteUnplanned()
		}
		return err
	}
	entry.noteRefreshed(began, changes)
	if changes.Empty() && entry.retry.IsZero() {
		entry.unplanned = 0
	}
	f.processes.mu.Lock()
	forgotten := entry.forgotten
	entry.forgotten = false
	f.processes.mu.Unlock()
	if entry.probed.Incomplete() && entry.retry.IsZero() {
		entry.retry = time.Now().Add(retryPause)
	}
	again := !entry.retry.IsZero() && time.Now().After(entry.retry)
	if !entry.target.IsROS2() {
		return f.prepare(ctx, entry)
	}
	if changes.Empty() && entry.recorded && !forgotten && !again {
		return nil
	}
	f.processes.mu.Lock()
	entry.describeAnew()
	entry.ros2 = true
	f.processes.mu.Unlock()
	if forgotten {
		entry.scanned.begun = false
	}
	if forgotten || !ros2 || entry.row.Distro != distro {
		f.admission.readAnew(ctx, entry)
	}
	if forgotten || !ros2 || entry.row.RMWImplementation != rmw {
		f.journal.warn(f.merger.Update(entry.row.ProcessKey, func(merged *merge.Process) error {
			merged.RMWImplementation = entry.row.RMWImplementation
			return nil
		}))
	}
	if !entry.recorded {
		f.processes.write(entry)
	}
	if !changes.Empty() || forgotten || entry.retry.IsZero() { // not for what could not be attached before
		f.attacher.Begin(ctx, entry.probed)
	}
	return f.attach(ctx, entry)
}

// prepare attaches what a process will map that has just begun to run a program of ROS 2, before it does.
func (f *follower) prepare(ctx context.Context, entry *process) error {
	if entry.looks >= youngLooks || !entry.target.WillRunROS2() {
		return nil
	}
	f.attacher.Begin(ctx, entry.probed)
	if entry.probed.Planned() {
		return nil
	}
	return f.attach(ctx, entry)
}

// replace begins anew with a process that runs another program now. The former one is let go of first: its user may
// have no room for both.
func (f *follower) replace(ctx context.Context, entry *process) error {
	f.letGo(entry)
	f.attacher.Sweep() // the former program's links would match the new one, too
	f.journal.warn(f.merger.Update(entry.row.ProcessKey, (*merge.Process).CloseMemory))
	f.processes.mu.Lock()
	entry.close()
	f.processes.mu.Unlock()
	fresh := f.admission.meetLate(ctx, entry)
	if fresh == nil {
		return nil
	}
	f.looks.ask(fresh.row.PID, isUrgent) // as at any process that has just begun
	if !fresh.ros2 && (f.configuration.All || f.configuration.name != nil) {
		return nil
	}
	f.processes.write(fresh)
	if fresh.ros2 {
		f.attacher.Begin(ctx, fresh.probed)
	}
	return f.attach(ctx, fresh)
}
