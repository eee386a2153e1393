package session

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// mappingPatience is how long after a file was attached to the reader may still have to read that it was mapped before.
const mappingPatience = time.Second

// judgeArmings writes rows of files that were mapped before they were probed.
func (s *Session) judgeArmings() {
	for _, entry := range s.entries() {
		s.judge(entry, false)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mappings.expire(readClock(unix.CLOCK_MONOTONIC)-int64(mappingMemory), func(pid int32) bool { return s.processes[pid] != nil })
}

// judge writes what is clear of a process, or in the end all of it.
func (s *Session) judge(entry *process, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entry.target == nil || len(entry.armings) == 0 {
		return
	}
	settled := readClock(unix.CLOCK_MONOTONIC) - int64(mappingPatience)
	entry.armings = slices.DeleteFunc(entry.armings, func(armed attaching.Armed) bool {
		module, mapped := moduleOf(entry.target, armed.File)
		switch {
		case !mapped:
			return end // it is expected, and may have been mapped just before
		case !end && armed.At > settled:
			return false
		}
		armed.Path = module.Path // by now it is mapped
		s.tellSpan(entry, armed, s.since(entry, armed, module), armed.At)
		return true
	})
}

func moduleOf(p *target.Process, file target.FileID) (target.Module, bool) {
	index := slices.IndexFunc(p.Modules, func(m target.Module) bool { return m.File == file })
	if index < 0 {
		return target.Module{}, false
	}
	return p.Modules[index], true
}

// since is from when on a file was mapped and not probed, were it before the recording. The session is locked.
func (s *Session) since(entry *process, armed attaching.Armed, module target.Module) int64 {
	if armed.Since != 0 {
		return armed.Since
	}
	return s.mappings.first(entry.row.PID, module)
}

// tellSpan writes that what a process did in a file is not recorded, from one instant of CLOCK_MONOTONIC to another, as
// far as that is in the recording. The session is locked.
func (s *Session) tellSpan(entry *process, armed attaching.Armed, from, to int64) {
	from = max(from, s.openedMonotonic)
	if from >= to || !entry.ros2 && !entry.shown {
		return
	}
	var events []string
	for _, event := range armed.Events {
		events = append(events, event.String())
	}
	s.unarmed++
	s.report.Unarmed = s.unarmed
	row := trace.Loss{
		Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: from + s.clock.RealtimeOffset, ToTimestamp: to + s.clock.RealtimeOffset,
		PID: entry.row.PID, ProcessStart: entry.row.ProcessStart, File: armed.Path, Events: strings.Join(events, ","),
	}
	if err := s.writer.Write(&trace.Batch{Losses: []trace.Loss{row}}); err != nil {
		s.warnings.add(err.Error())
	}
}

// tellUnarmed writes what there is to say of a process that is over, or is recorded no more.
func (s *Session) tellUnarmed(entry *process) {
	end := readClock(unix.CLOCK_MONOTONIC)
	s.mu.Lock()
	if until := entry.row.RecordingEndTimestamp; until.Valid {
		end = until.Value - s.clock.RealtimeOffset
	}
	s.mu.Unlock()
	s.tellUnarmedUntil(entry, end)
}

func (s *Session) tellUnarmedUntil(entry *process, end int64) {
	if entry.target == nil || entry.probed == nil || entry.judged {
		return
	}
	entry.judged = true
	s.judge(entry, true)
	never := s.attacher.Unarmed(entry.probed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened.IsZero() {
		return
	}
	for _, armed := range never {
		if module, mapped := moduleOf(entry.target, armed.File); mapped {
			s.tellSpan(entry, armed, s.since(entry, armed, module), end)
		}
	}
	if entry.ros2 && !entry.recorded {
		s.tellSpan(entry, attaching.Armed{}, s.mappings.begun(entry.row.PID), end)
	}
}

// tellAllUnarmed does so for all processes that are still recorded when the recording is closed.
func (s *Session) tellAllUnarmed(closed int64) {
	for _, entry := range s.entries() {
		s.tellUnarmedUntil(entry, closed)
	}
}
