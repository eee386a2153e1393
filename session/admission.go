package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
)

// admission decides which processes are recorded, and gives these a place everywhere: among the processes, in the
// merger, and on the kernel's list. It is of the session's own goroutine.
type admission struct {
	// Set once.
	configuration *compiled
	finder        *target.Finder
	loader        *loader.Loader
	merger        *merge.Merger
	clock         datasetClock
	processes     *processes
	memories      *memories
	looks         *looks
	starts        *recentStarts
	turns         *turns
	journal       *journal
}

// list puts a process on the kernel's list of those to record. The kernel takes processes off when they exit: one that
// had exited before would stay there, and its number may soon be a stranger's.
func (a *admission) list(entry *process) error {
	if err := a.loader.AddProcess(entry.row.PID); err != nil {
		return err
	}
	if entry.target != nil && entry.target.Alive() {
		return nil
	}
	return a.loader.RemoveProcess(entry.row.PID, entry.row.ProcessStart)
}

// enroll gives a process its place in the session and its graph in the merger. If a record of the process has done so
// before, what it led to is returned; nil if the process was over when the record was read.
func (a *admission) enroll(ctx context.Context, p *target.Process) *process {
	entry := newProcess(p)
	opened := a.memories.open(ctx, entry)
	a.merger.AddIfAbsent(p.PID, func() *merge.Process {
		a.processes.begin(entry)
		return mergedProcess(entry, opened.take())
	})
	a.journal.warn(opened.close())
	a.processes.mu.Lock()
	known := a.processes.byPID[p.PID]
	unmet := known != nil && known.isUnmet()
	a.processes.mu.Unlock()
	switch {
	case known == entry:
	case unmet:
		entry = a.adopt(ctx, known, entry)
	default:
		entry.close()
		entry = known
	}
	if entry == nil || entry.target == nil {
		return nil
	}
	return entry
}

// meet decides whether a process that has begun to run a program is to be recorded.
func (a *admission) meet(ctx context.Context, pid int32) *process {
	p, err := a.finder.Inspect(ctx, pid)
	if !errors.Is(err, quota.ErrUsedUp) {
		a.turns.settle(pid)
	} else if !a.turns.refuse(pid) {
		return nil // as was said
	}
	if err != nil {
		if a.journal.warnOfRefused(err) {
			a.unlist(pid, 0)
		}
		return nil // it was short
	}
	if a.starts.isOfFormer(keyOf(p)) {
		_ = p.Close()
		return nil // its own announcement is still to be read
	}
	if !a.configuration.wants(p) || a.configuration.PIDs != "" {
		a.dropUnwanted(ctx, p)
		return nil
	}
	entry := a.enroll(ctx, p)
	if entry != nil && !a.configuration.All {
		a.journal.warn(a.list(entry))
	}
	return entry
}

// dropUnwanted lets go of a process that is not wanted. If it has begun to run another program meanwhile, this may be
// wanted.
func (a *admission) dropUnwanted(ctx context.Context, p *target.Process) {
	defer p.Close()
	if a.configuration.name == nil {
		return // the kernel has no list of new ones
	}
	a.unlist(p.PID, p.StartTime)
	if _, err := p.Refresh(ctx); errors.Is(err, target.ErrReplaced) {
		a.journal.warn(a.loader.AddProcess(p.PID))
		a.looks.ask(p.PID, isUrgent)
	}
}

// unlist takes a process off the kernel's list, which has every new one where a name chooses.
func (a *admission) unlist(pid int32, start int64) {
	if a.configuration.name != nil {
		a.journal.warn(a.loader.RemoveProcess(pid, start))
	}
}

// meetLate looks at a process that is known by its records only. It returns nil if that is over, or never was to be
// looked into.
func (a *admission) meetLate(ctx context.Context, unmet *process) *process {
	p, err := a.finder.Inspect(ctx, unmet.row.PID)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		a.journal.warnOfRefused(err)
		exited := errors.Is(err, target.ErrNoProcess)
		if unmet.looks++; exited && unmet.looks < youngLooks {
			return nil // the kernel tells when that was
		}
		a.processes.end(unmet, a.clock.now(), exited)
		return nil
	}
	if unmet.undecided && !a.configuration.wants(p) {
		_ = p.Close()
		a.dismiss(unmet)
		return nil
	}
	return a.adopt(ctx, unmet, newProcess(p))
}

// dismiss ends the recording of a process that turns out not to be wanted.
func (a *admission) dismiss(unmet *process) {
	pid := unmet.row.PID
	a.unlist(pid, unmet.row.ProcessStart)
	a.journal.warn(fmt.Errorf("PID %d (%s) was recorded for a moment, until it was known that --name does not fit it", pid, unmet.row.Command))
	a.journal.warn(a.merger.Update(unmet.row.ProcessKey, func(merged *merge.Process) error {
		merged.Unwanted = true
		return nil
	}))
	a.processes.end(unmet, a.clock.now(), false)
}

// adopt puts a process that was looked at in the place of what its records had led to. It returns nil if that was
// another process, whose end is still to be told.
func (a *admission) adopt(ctx context.Context, unmet, entry *process) *process {
	if !a.processes.adopt(unmet, entry) {
		entry.close()
		return nil
	}
	a.readAnew(ctx, entry)
	return entry
}

// readAnew gives the merger what is known now of a process that it knows: its memory, and its implementation of rmw.
func (a *admission) readAnew(ctx context.Context, entry *process) {
	opened := a.memories.open(ctx, entry)
	a.journal.warn(a.merger.Update(entry.row.ProcessKey, func(merged *merge.Process) error {
		merged.RMWImplementation = entry.row.RMWImplementation
		err := merged.CloseMemory()
		opened.take().give(merged)
		return err
	}))
	a.journal.warn(opened.close())
}
