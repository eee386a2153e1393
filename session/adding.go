package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrTarget is returned for a process that cannot be added to a recording, or removed from it.
var ErrTarget = errors.New("no such target")

// Target is a process that is recorded.
type Target struct {
	trace.ProcessKey
	Command string
}

// Targets are the processes that are recorded now.
func (h *Handle) Targets() (all []Target) {
	p := h.session.processes
	for _, entry := range p.all() {
		p.mu.Lock()
		if entry.isRecorded() {
			all = append(all, Target{entry.row.ProcessKey, entry.row.Command})
		}
		p.mu.Unlock()
	}
	return all
}

// AddTarget begins to record a process, and returns when everything is recorded of it, from one instant on. Users other
// than root add only what is their own: the recorder may read what they may not. It fails with ErrTarget,
// ErrConfiguration where the recording chooses by itself, ErrOver or ctx's error.
func (h *Handle) AddTarget(ctx context.Context, pid int32, user uint32) error {
	return h.changeTargets(ctx, pid, func(ctx context.Context, pid int32) error { return h.session.addTarget(ctx, pid, user) })
}

// RemoveTarget ends the recording of a process: all that happened before one instant is there, and nothing later. The
// last one cannot be removed. It fails as AddTarget does.
func (h *Handle) RemoveTarget(ctx context.Context, pid int32) error {
	return h.changeTargets(ctx, pid, h.session.removeTarget)
}

func (h *Handle) changeTargets(ctx context.Context, pid int32, change func(context.Context, int32) error) error {
	s := h.session
	if s.configuration.PIDs == "" {
		return fmt.Errorf("%w: what is not recorded by -p chooses its processes by itself", ErrConfiguration)
	}
	return h.whileItLasts(ctx, func(ctx context.Context) error {
		return s.ask(ctx, func(ctx context.Context) error {
			if !s.hasRoom(pid) {
				return errChanges
			}
			return change(ctx, pid)
		})
	})
}

func (s *Session) addTarget(ctx context.Context, pid int32, user uint32) (err error) {
	if s.processes.living(pid) != nil {
		return fmt.Errorf("%w: PID %d is recorded already", ErrTarget, pid)
	}
	found, _, err := s.finder.ByPIDs(ctx, strconv.Itoa(int(pid)))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTarget, err)
	}
	if user != 0 && !found[0].IsOf(user) {
		_ = found[0].Close()
		return fmt.Errorf("%w: PID %d is not a process of user %d: ask as root, with sudo caret-bpf ctl add", ErrTarget, pid, user)
	}
	// What is attached takes effect at once, and not site by site.
	if err := s.loader.WithholdAllButEntities(pid); err != nil {
		_ = found[0].Close()
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%w: %w", ErrTarget, err), s.loader.Admit(pid))
		}
	}()
	if err := s.follower.add(ctx, found[0], s.planner.plan(ctx, found[0])); err != nil {
		if entry := s.processes.living(pid); entry != nil {
			entry.wantedFrom = attaching.Never // it was not recorded, and missed nothing
			s.processes.refuse(entry, s.clock.now())
			s.endTarget(entry, s.clock.now())
		}
		return err
	}
	entry := s.processes.living(pid)
	if entry == nil {
		return fmt.Errorf("PID %d has ended", pid)
	}
	s.scans.until(ctx, []*process{entry}, time.Now().Add(scanTime)) // so that its first rows have their names
	s.merger.EmitEntities(false)
	s.headers.answer(ctx)
	s.journal.warn(s.follower.refresh(ctx, entry))
	if err := s.loader.Admit(pid); err != nil {
		return err
	}
	s.processes.mu.Lock()
	entry.wantedFrom = readClock(unix.CLOCK_MONOTONIC)
	if s.driver.hasBegun() {
		entry.row.RecordingStartTimestamp = trace.Some(entry.wantedFrom + s.clock.RealtimeOffset)
	}
	s.processes.mu.Unlock()
	s.processes.write(entry)
	s.noteTargetChange(trace.ChangeAdded, entry)
	return nil
}

func (s *Session) removeTarget(ctx context.Context, pid int32) error {
	entry := s.processes.living(pid)
	if entry == nil {
		return fmt.Errorf("%w: PID %d is not recorded", ErrTarget, pid)
	}
	if s.processes.count() < 2 {
		return fmt.Errorf("%w: PID %d is the last one that is recorded: stop the recording", ErrTarget, pid)
	}
	withheld, err := s.loader.Withhold(pid)
	if err != nil {
		return err
	}
	at := withheld + s.clock.RealtimeOffset
	s.processes.end(entry, at, false)
	err = s.drainTarget(context.WithoutCancel(ctx), pid)
	s.endTarget(entry, at)
	s.noteTargetChange(trace.ChangeRemoved, entry)
	return errors.Join(err, s.loader.Admit(pid))
}

// drainTarget brings home what is on its way of a process that is withheld.
func (s *Session) drainTarget(ctx context.Context, pid int32) error {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := s.loader.Drain(ctx); err != nil {
		return fmt.Errorf("reading what was recorded: %w", err)
	}
	threads, err := s.loader.TakeThreads(pid)
	if err != nil {
		return err
	}
	for _, thread := range threads {
		if err := s.merger.CloseThread(thread.State); err != nil {
			return err
		}
	}
	return s.merger.Take(s.rows.Write)
}

// endTarget lets go of a process that is recorded no more, and goes on.
func (s *Session) endTarget(entry *process, at int64) {
	s.journal.warn(s.loader.RemoveProcess(entry.row.PID, entry.row.ProcessStart))
	s.processes.end(entry, at, false)
	s.follower.letGo(entry)
	s.attacher.Sweep()
	s.follower.forget(entry)
	s.journal.warn(s.merger.Take(s.rows.Write))
	entry.close()
}

// noteTargetChange notes which process was added or removed.
func (s *Session) noteTargetChange(what string, entry *process) {
	s.noteChange(what, struct {
		PID          int32  `json:"pid"`
		ProcessStart int64  `json:"process_start"`
		Command      string `json:"command"`
	}{entry.row.PID, entry.row.ProcessStart, entry.row.Command})
}
