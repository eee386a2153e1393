package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// arming says since when events of a file are recorded of a process, until it is clear since when the process has had
// the file mapped. Times are CLOCK_MONOTONIC in nanoseconds.
type arming struct {
	attaching.Armed
	// module is the file as the process had mapped it when that was first seen, at seen; 0 while it is only expected.
	module target.Module
	seen   int64
}

// mappingPatience is how long after a mapping was seen it may still have to be read when it was made.
const mappingPatience = time.Second

// noteArmed notes files that are probed now. Those that were before the recording began have missed nothing.
func (s *Session) noteArmed(entry *process, armed []attaching.Armed) {
	if s.opened.IsZero() {
		return
	}
	for _, a := range armed {
		noted := arming{Armed: a}
		noted.look(entry)
		entry.armings = append(entry.armings, noted)
	}
}

// look looks whether the process has mapped the file by now.
func (a *arming) look(entry *process) {
	if a.seen != 0 {
		return
	}
	if index := slices.IndexFunc(entry.target.Modules, func(m target.Module) bool { return m.File == a.File }); index >= 0 {
		a.module, a.seen = entry.target.Modules[index], readClock(unix.CLOCK_MONOTONIC)
	}
}

// judgeArmings writes rows of files that were mapped before they were probed.
func (s *Session) judgeArmings() {
	for _, entry := range s.processes.all() {
		s.judge(entry, false)
	}
	s.processes.mu.Lock()
	defer s.processes.mu.Unlock()
	s.mappings.expire(readClock(unix.CLOCK_MONOTONIC)-int64(mappingMemory), func(pid int32) bool { return s.processes.byPID[pid] != nil })
}

// judge writes what is clear of a process, or in the end all of it.
func (s *Session) judge(entry *process, end bool) {
	s.processes.mu.Lock()
	defer s.processes.mu.Unlock()
	if entry.target == nil || len(entry.armings) == 0 {
		return
	}
	settled := readClock(unix.CLOCK_MONOTONIC) - int64(mappingPatience)
	var left []arming
	for _, a := range entry.armings {
		a.look(entry)
		switch {
		case a.seen != 0 && (end || a.seen <= settled):
			s.tellSpan(entry, a, a.At)
		case !end:
			left = append(left, a)
		}
	}
	entry.armings = left
}

// tellSpan writes that what a process did in a file is not recorded until an instant, as far as that is in the
// recording. The processes are locked.
func (s *Session) tellSpan(entry *process, a arming, until int64) {
	from := max(s.mappedSince(entry, a), s.openedMonotonic)
	if from >= until || !entry.ros2 && !entry.shown {
		return
	}
	var events []string
	for _, event := range a.Events {
		events = append(events, event.String())
	}
	s.journal.with(func(report *trace.Session) { report.Unarmed++ })
	row := trace.Loss{
		Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: from + s.clock.RealtimeOffset, ToTimestamp: until + s.clock.RealtimeOffset,
		PID: entry.row.PID, ProcessStart: entry.row.ProcessStart, File: a.module.Path, Events: strings.Join(events, ","),
	}
	s.journal.gather(s.writer.Write(&trace.Batch{Losses: []trace.Loss{row}}))
}

// mappedSince is when a file was mapped, or an earlier bound where that is unknown. The processes are locked.
func (s *Session) mappedSince(entry *process, a arming) int64 {
	if a.Since != 0 {
		return a.Since
	}
	pid := entry.row.PID
	// When it began, on the clock that stands still while the machine sleeps, rounded down as /proc does it.
	least := entry.row.ProcessStart - (readClock(unix.CLOCK_BOOTTIME) - readClock(unix.CLOCK_MONOTONIC))
	least = max(least, entry.absent[a.File])
	if s.processes.byPID[pid] != entry {
		return least // what is known of the PID is of another process
	}
	told := s.mappings.of(pid, a.module)
	if told.begun <= a.At {
		least = max(least, told.begun)
	}
	if !told.found || told.replaced > a.seen || told.lostAt > least {
		return least // what is told may be of another program, or a later mapping of the file
	}
	return told.first
}

// noteRefreshed notes which files the process had not mapped when it was looked at before.
func (p *process) noteRefreshed(began int64, changes target.Changes) {
	for _, module := range changes.Added {
		if p.absent == nil {
			p.absent = map[target.FileID]int64{}
		}
		p.absent[module.File] = p.refreshed
	}
	p.refreshed = began
}

// noteUnplanned notes that something which was mapped since the last look could not be planned.
func (p *process) noteUnplanned() {
	if p.unplanned == 0 {
		p.unplanned = max(p.refreshed, 1)
	}
}

// lookLast looks once more at what processes have mapped: what is not attached any more is to be told.
func (s *Session) lookLast() {
	ctx, cancel := context.WithTimeout(context.Background(), mappingPatience)
	defer cancel()
	for _, entry := range s.processes.all() {
		if ctx.Err() != nil {
			return
		}
		if s.processes.living(entry.row.PID) != entry || !entry.recorded {
			continue
		}
		began := readClock(unix.CLOCK_MONOTONIC)
		changes, err := entry.target.Refresh(ctx)
		if err != nil || len(changes.Added) == 0 {
			continue
		}
		entry.noteRefreshed(began, changes)
		if made := s.plan(ctx, entry.target); made.err == nil {
			s.attacher.Intend(entry.probed, made.plan)
		}
	}
}

// tellUnarmed writes what there is to say of a process that is over, or runs another program.
func (s *Session) tellUnarmed(entry *process) {
	end := readClock(unix.CLOCK_MONOTONIC)
	s.processes.mu.Lock()
	if until := entry.row.RecordingEndTimestamp; until.Valid {
		end = until.Value - s.clock.RealtimeOffset
	}
	s.processes.mu.Unlock()
	s.tellUnarmedUntil(entry, end)
}

func (s *Session) tellUnarmedUntil(entry *process, end int64) {
	if entry.target == nil || entry.probed == nil || entry.judged {
		return
	}
	entry.judged = true
	s.judge(entry, true)
	never := s.attacher.Unarmed(entry.probed)
	blind := entry.ros2 && !entry.probed.Planned() && !s.isProbedForAll(entry, end)
	s.processes.mu.Lock()
	defer s.processes.mu.Unlock()
	if s.opened.IsZero() {
		return
	}
	for _, armed := range never {
		a := arming{Armed: armed}
		if a.look(entry); a.seen != 0 {
			s.tellSpan(entry, a, end)
		}
	}
	switch {
	case blind:
		s.tellSpan(entry, arming{Armed: attaching.Armed{At: attaching.Never}}, end)
	case entry.unplanned != 0:
		s.tellSpan(entry, arming{Armed: attaching.Armed{Since: entry.unplanned, At: attaching.Never}}, end)
	}
}

// isProbedForAll reports whether all that a process has mapped is probed for every process, as far as that is sure: say
// of a child that has its parent's files and was over soon after it was looked at.
func (s *Session) isProbedForAll(entry *process, end int64) bool {
	if end-max(entry.met, entry.refreshed) > int64(mappingPatience) {
		return false
	}
	return !slices.ContainsFunc(entry.target.Modules, func(m target.Module) bool { return !s.attacher.IsForAll(m.File) })
}

// tellAllUnarmed does so for all processes that are still recorded when the recording is closed.
func (s *Session) tellAllUnarmed(closed int64) {
	for _, entry := range s.processes.allGone() {
		s.tellUnarmed(entry)
	}
	for _, entry := range s.processes.all() {
		if entry.ended {
			s.tellUnarmed(entry)
			continue
		}
		s.tellUnarmedUntil(entry, closed)
	}
}
