package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
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

// blindSpans are what processes did in files while these were not probed. It is of the session's own goroutine.
type blindSpans struct {
	// Set once.
	clock     datasetClock
	processes *processes
	mappings  *mappings
	attacher  *attaching.Attacher
	planner   *planner
	rows      *rows
	journal   *journal
	// hasIntraProcess reports whether a process is known to have intra-process communication, missedIntraProcess whether
	// that is missing of one that has been there since an instant (attaching.Attacher.MissedIntraProcess).
	hasIntraProcess    func(trace.ProcessKey) bool
	missedIntraProcess func(since int64) bool

	// from is when the recording began, on CLOCK_MONOTONIC in nanoseconds; 0: it has not.
	from int64
}

// noteArmed notes files that are probed now. Those that were before the recording began have missed nothing.
func (b *blindSpans) noteArmed(entry *process, armed []attaching.Armed) {
	if b.from == 0 {
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

// judgeAll writes rows of files that were mapped before they were probed.
func (b *blindSpans) judgeAll() {
	for _, entry := range b.processes.all() {
		b.judge(entry, false)
	}
	b.processes.mu.Lock()
	defer b.processes.mu.Unlock()
	b.mappings.expire(readClock(unix.CLOCK_MONOTONIC)-int64(mappingMemory), func(pid int32) bool { return b.processes.byPID[pid] != nil })
}

// judge writes what is clear of a process, or in the end all of it.
func (b *blindSpans) judge(entry *process, end bool) {
	b.processes.mu.Lock()
	defer b.processes.mu.Unlock()
	if entry.target == nil || len(entry.armings) == 0 {
		return
	}
	settled := readClock(unix.CLOCK_MONOTONIC) - int64(mappingPatience)
	var left []arming
	for _, a := range entry.armings {
		a.look(entry)
		switch {
		case a.seen != 0 && (end || a.seen <= settled):
			b.tellSpan(entry, a, a.At)
		case !end:
			left = append(left, a)
		}
	}
	entry.armings = left
}

// tellSpan writes that what a process did in a file is not recorded until an instant, as far as that is in the
// recording. The processes are locked.
func (b *blindSpans) tellSpan(entry *process, a arming, until int64) {
	from := max(b.mappedSince(entry, a), b.from, entry.wantedFrom)
	if from >= until || !entry.ros2 && !entry.shown {
		return
	}
	var events []string
	for _, event := range a.Events {
		events = append(events, event.String())
	}
	b.journal.with(func(report *trace.Session) { report.Unarmed++ })
	row := trace.Loss{
		Kind: trace.LostEvent, Reason: trace.LossUnarmed, FromTimestamp: from + b.clock.RealtimeOffset, ToTimestamp: until + b.clock.RealtimeOffset,
		PID: entry.row.PID, ProcessStart: entry.row.ProcessStart, File: a.module.Path, Events: strings.Join(events, ","),
	}
	b.journal.gather(b.rows.Write(&trace.Batch{Losses: []trace.Loss{row}}))
}

// mappedSince is when a file was mapped, or an earlier bound where that is unknown. The processes are locked.
func (b *blindSpans) mappedSince(entry *process, a arming) int64 {
	if a.Since != 0 {
		return a.Since
	}
	pid := entry.row.PID
	least := max(attaching.Begun(entry.row.ProcessStart), entry.absent[a.File])
	if b.processes.byPID[pid] != entry {
		return least // what is known of the PID is of another process
	}
	told := b.mappings.of(pid, a.module)
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
func (b *blindSpans) lookLast() {
	ctx, cancel := context.WithTimeout(context.Background(), mappingPatience)
	defer cancel()
	for _, entry := range b.processes.all() {
		if ctx.Err() != nil {
			return
		}
		if b.processes.living(entry.row.PID) != entry || !entry.recorded {
			continue
		}
		began := readClock(unix.CLOCK_MONOTONIC)
		changes, err := entry.target.Refresh(ctx)
		if err != nil || len(changes.Added) == 0 {
			continue
		}
		entry.noteRefreshed(began, changes)
		if made := b.planner.plan(ctx, entry.target); made.err == nil {
			b.attacher.Intend(entry.probed, made.plan)
		}
	}
}

// tell writes what there is to say of a process that is over, or runs another program.
func (b *blindSpans) tell(entry *process) {
	end := readClock(unix.CLOCK_MONOTONIC)
	b.processes.mu.Lock()
	if until := entry.row.RecordingEndTimestamp; until.Valid {
		end = until.Value - b.clock.RealtimeOffset
	}
	b.processes.mu.Unlock()
	b.tellUntil(entry, end)
}

func (b *blindSpans) tellUntil(entry *process, end int64) {
	if entry.target == nil || entry.probed == nil || entry.judged {
		return
	}
	entry.judged = true
	b.judge(entry, true)
	never := b.attacher.Unarmed(entry.probed)
	blind := entry.ros2 && !entry.probed.Planned() && !b.isProbedForAll(entry, end)
	b.processes.mu.Lock()
	defer b.processes.mu.Unlock()
	if b.from == 0 {
		return
	}
	for _, armed := range never {
		a := arming{Armed: armed}
		if a.look(entry); a.seen != 0 {
			b.tellSpan(entry, a, end)
		}
	}
	switch {
	case blind:
		entry.toldBlind = true
		b.tellSpan(entry, arming{Armed: attaching.Armed{At: attaching.Never}}, end)
	case entry.unplanned != 0:
		b.tellSpan(entry, arming{Armed: attaching.Armed{Since: entry.unplanned, At: attaching.Never}}, end)
	}
}

// tellMissedIntraProcess writes, of a process that was over before anything was planned for it, what it lacks though
// all that it had mapped was probed for every process. Its last records have been read.
func (b *blindSpans) tellMissedIntraProcess(entry *process, closed int64) {
	if b.from == 0 || entry.toldBlind || entry.probed != nil && entry.probed.Planned() ||
		!b.missedIntraProcess(attaching.Begun(entry.row.ProcessStart)) || !b.hasIntraProcess(entry.row.ProcessKey) {
		return
	}
	b.processes.mu.Lock()
	defer b.processes.mu.Unlock()
	end := closed
	if until := entry.row.RecordingEndTimestamp; until.Valid {
		end = until.Value - b.clock.RealtimeOffset
	}
	events := []abi.Event{abi.EventRclcppIntraPublish, abi.EventRclcppRingBufferEnqueue, abi.EventRclcppRingBufferDequeue}
	b.tellSpan(entry, arming{Armed: attaching.Armed{At: attaching.Never, Events: events}}, end)
}

// isProbedForAll reports whether all that a process has mapped is probed for every process, as far as that is sure: say
// of a child that has its parent's files and was over soon after it was looked at.
func (b *blindSpans) isProbedForAll(entry *process, end int64) bool {
	if end-max(entry.met, entry.refreshed) > int64(mappingPatience) {
		return false
	}
	return !slices.ContainsFunc(entry.target.Modules, func(m target.Module) bool { return !b.attacher.IsForAll(m.File) })
}

// tellAll does so for all processes that are still recorded when the recording is closed.
func (b *blindSpans) tellAll(closed int64) {
	for _, entry := range b.processes.allGone() {
		b.tell(entry)
	}
	for _, entry := range b.processes.all() {
		if entry.ended {
			b.tell(entry)
		} else {
			b.tellUntil(entry, closed)
		}
		b.tellMissedIntraProcess(entry, closed)
	}
}
