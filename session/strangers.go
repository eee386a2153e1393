package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// A stranger is a process that nobody has met when a record of it comes: it was forked, or it just began to run ROS 2.
// To look at it at once gives its first rows their names, but no record of anybody is read meanwhile. Each user's
// strangers may take this much of a period. Those beyond it are looked at by the session, in the turn of their user.
const (
	strangersTime = 100 * time.Millisecond
	// strangerPatience bounds one look. Time beyond the allowance is deducted from the periods that follow.
	strangerPatience = time.Second
)

// strangers makes processes of PIDs that records come from and nobody has added. It is used with the merger locked.
type strangers struct {
	// Set once.
	configuration *compiled
	finder        *target.Finder
	bootID        string
	processes     *processes
	memories      *memories
	looks         *looks
	starts        *recentStarts
	journal       *journal

	time allowance
}

// identify makes a process of a PID that a record came from and nobody has added. It is called with the merger locked.
func (s *strangers) identify(pid int32) *merge.Process {
	payer, err := s.finder.Payer(pid)
	if err != nil {
		return s.remember(pid, errors.Is(err, target.ErrNoProcess))
	}
	begin := time.Now()
	if !s.time.has(payer, strangersTime, begin) {
		return s.postpone(pid, payer)
	}
	defer func() { s.time.spend(payer, time.Since(begin)) }()
	ctx, cancel := context.WithTimeout(context.Background(), strangerPatience) // whether or not the recording is over
	defer cancel()
	p, err := s.finder.Inspect(ctx, pid)
	if ctx.Err() != nil {
		if err == nil {
			_ = p.Close()
		}
		return s.postpone(pid, payer)
	}
	if err != nil {
		s.journal.warnOfRefused(err)
		if errors.Is(err, target.ErrNotShown) {
			return s.postpone(pid, payer)
		}
		return s.remember(pid, errors.Is(err, target.ErrNoProcess))
	}
	if s.starts.isOfFormer(keyOf(p)) {
		_ = p.Close()
		return s.remember(pid, true)
	}
	if !s.configuration.wants(p) {
		defer p.Close()
		return s.unwanted(keyOf(p))
	}
	entry := newProcess(p)
	opened := s.memories.open(ctx, entry)
	entry.forgotten = ctx.Err() != nil            // then the session opens it
	merged := mergedProcess(entry, opened.take()) // before anybody else sees the entry
	s.processes.begin(entry)
	s.looks.ask(pid, isUrgent)
	return merged
}

// remember makes a process that is gone, or may not be looked into: what the kernel said when it began is all there is
// to know.
func (s *strangers) remember(pid int32, exited bool) *merge.Process {
	start := s.starts.of(pid)
	key := trace.ProcessKey{BootID: s.bootID, PID: pid, ProcessStart: start.time}
	if !s.configuration.mayWant(start.command) {
		s.journal.warn(fmt.Errorf("PID %d (%s) was over before its arguments were read: if --name fits these, what it did is missing", pid, start.command))
		s.journal.with(func(report *trace.Session) { report.Undecided++ })
		return s.unwanted(key)
	}
	s.processes.put(&process{
		row: trace.Process{ProcessKey: key, Command: start.command, Exited: exited}, ros2: true, ended: true, endedAt: time.Now(),
	})
	return &merge.Process{Key: key, Graph: newGraph(key, s.finder.Quota().Of(nobodyKnown))}
}

// postpone makes a process that the session is to look at. Until then its rows have no names.
func (s *strangers) postpone(pid int32, payer uint32) *merge.Process {
	identity, command, err := s.finder.Identify(pid)
	if err != nil {
		return s.remember(pid, errors.Is(err, target.ErrNoProcess))
	}
	key := trace.ProcessKey{BootID: identity.BootID, PID: pid, ProcessStart: identity.StartTime}
	if s.starts.isOfFormer(key) {
		return s.remember(pid, true)
	}
	undecided := false
	if !s.configuration.mayWant(command) {
		wanted, decided := s.wantsCommandLine(pid, payer)
		if decided && !wanted {
			return s.unwanted(key)
		}
		undecided = !decided
	}
	s.processes.begin(&process{row: trace.Process{ProcessKey: key, Command: command}, ros2: true, payer: payer, undecided: undecided})
	s.looks.ask(pid, canWait)
	s.journal.warn(fmt.Errorf("looking at new processes of user %d takes long: names may be missing in their first rows", payer))
	return &merge.Process{Key: key, Graph: newGraph(key, s.finder.Quota().Of(payer))}
}

// unwanted makes a process of which nothing is to be told, as long as nobody enrolls it.
func (s *strangers) unwanted(key trace.ProcessKey) *merge.Process {
	return &merge.Process{Key: key, Graph: newGraph(key, s.finder.Quota().Of(nobodyKnown)), Unwanted: true}
}

// commandLinePatience is how long a command line is waited for that decides whether records are wanted. Whose is not
// shown in time is recorded until it was looked at: nothing is dropped that may be wanted.
const commandLinePatience = 100 * time.Millisecond

// wantsCommandLine reports whether a process is wanted by its command line, with nothing else looked at, and whether it
// shows that in time. Its user pays for the time, and has only so much.
func (s *strangers) wantsCommandLine(pid int32, payer uint32) (wanted, decided bool) {
	begin := time.Now()
	if !s.time.has(payer, 2*strangersTime, begin) {
		return false, false
	}
	defer func() { s.time.spend(payer, time.Since(begin)) }()
	ctx, cancel := context.WithTimeout(context.Background(), commandLinePatience)
	defer cancel()
	arguments, err := s.finder.CommandLine(ctx, pid)
	return err == nil && s.configuration.matchesCommandLine(arguments), err == nil || errors.Is(err, target.ErrNoProcess)
}
