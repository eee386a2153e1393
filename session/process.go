package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// process is a process that is or was recorded.
type process struct {
	// payer is whose time it is looked at in. It is set once.
	payer uint32

	// Written with the processes locked, and read so by the reader of records.

	// ros2 says that it maps ROS 2's libraries.
	ros2 bool
	row  trace.Process
	// told is the last row that was written of it.
	told trace.Process
	// shown says that the dataset has rows of it. It may end before anybody sees that it maps ROS 2's libraries.
	shown   bool
	ended   bool
	endedAt time.Time
	// undecided says that it is recorded though it is not known yet whether the user wants it.
	undecided bool
	// recorded says that it was attached to as a ROS 2 process.
	recorded bool
	// forgotten says that the merger has read of an exec since the process was met, and may know nothing of its program.
	forgotten bool
	// mapped says that the kernel has told of a mapping since the process was last looked at, askedAt when somebody was
	// asked to look for that reason.
	mapped  bool
	askedAt time.Time

	// Of the session's own goroutine.

	target *target.Process // nil before anybody has looked, and if it was gone then
	// armings say since when files are probed, where it is not yet clear whether the process had mapped them before.
	armings []arming
	// probed is what is attached to it; nil if target was nil from the beginning. It is set once.
	probed *attaching.Process
	// retry is from when on planning and attaching, which have failed, are tried again; zero: they have not.
	retry time.Time
	// headers are the addresses that the kernel side knows the header offset of.
	headers []uint64
	// looks counts how often a young process was looked at, lookedAt says when it was last.
	looks    int
	lookedAt time.Time
	scanned  scanned
	// refreshed is the begin of the last look at its mappings, absent when files were not among them that came later,
	// unplanned since when something that it has mapped could not be planned; 0: all could. On CLOCK_MONOTONIC, in
	// nanoseconds.
	refreshed int64
	absent    map[target.FileID]int64
	unplanned int64
	// met is when it was known first what it has mapped, on the same clock.
	met int64
	// judged says that all is told of when its files were not probed.
	judged bool
}

// add begins to record a process that maps ROS 2, or may do so later, by the plan that was made for it.
func (s *Session) add(ctx context.Context, p *target.Process, first planning) error {
	pid := p.PID
	entry := s.enroll(ctx, p)
	if entry == nil {
		return fmt.Errorf("%w: PID %d", target.ErrNoProcess, pid)
	}
	if !s.configuration.All {
		if err := s.list(entry); err != nil {
			return err
		}
	}
	if entry.target != nil && entry.target != p {
		return s.attach(ctx, entry) // it was met before, by one of its records
	}
	return s.attachPlan(ctx, entry, first)
}

// list puts a process on the kernel's list of those to record. The kernel takes processes off when they exit: one that
// had exited before would stay there, and its number may soon be a stranger's.
func (s *Session) list(entry *process) error {
	if err := s.loader.AddProcess(entry.row.PID); err != nil {
		return err
	}
	if entry.target != nil && entry.target.Alive() {
		return nil
	}
	return s.loader.RemoveProcess(entry.row.PID)
}

// enroll gives a process its place in the session and its graph in the merger. If a record of the process has done so
// before, what it led to is returned; nil if the process was over when the record was read.
func (s *Session) enroll(ctx context.Context, p *target.Process) *process {
	entry := newProcess(p)
	opened := s.memories.open(ctx, entry)
	s.merger.Introduce(p.PID, func() *merge.Process {
		s.processes.begin(entry)
		return mergedProcess(entry, opened.take())
	})
	s.journal.warn(opened.close())
	s.processes.mu.Lock()
	known := s.processes.byPID[p.PID]
	unmet := known != nil && known.isUnmet()
	s.processes.mu.Unlock()
	switch {
	case known == entry:
	case unmet:
		entry = s.adopt(ctx, known, entry)
	default:
		entry.close()
		entry = known
	}
	if entry == nil || entry.target == nil {
		return nil
	}
	return entry
}

func newProcess(p *target.Process) *process {
	return &process{
		target: p, probed: attaching.NewProcess(p), row: describe(p), ros2: p.IsROS2(), payer: p.Account().User(),
		met: readClock(unix.CLOCK_MONOTONIC),
	}
}

func keyOf(p *target.Process) trace.ProcessKey {
	return trace.ProcessKey{BootID: p.BootID, PID: p.PID, ProcessStart: p.StartTime}
}

func describe(p *target.Process) trace.Process {
	return trace.Process{
		ProcessKey:        keyOf(p),
		NamespacePID:      trace.Some(p.NamespacePID),
		Command:           p.Command,
		Executable:        p.Executable,
		CommandLine:       strings.Join(p.CommandLine, " "),
		Distro:            string(p.Distro),
		RMWImplementation: p.RMW,
	}
}

// describeAnew brings the row up to date with what the process is seen to be now. What the session noted in it stays:
// the kernel may have told of the exit while the process was looked at.
func (p *process) describeAnew() {
	former := p.row
	p.row = describe(p.target)
	p.row.RecordingStartTimestamp = former.RecordingStartTimestamp
	p.row.RecordingEndTimestamp = former.RecordingEndTimestamp
	p.row.Exited = former.Exited
}

// nobodyKnown pays for processes that were gone before their user was known.
const nobodyKnown = math.MaxUint32

// entityMeter has a user pay for the entities of a process.
type entityMeter struct{ account *quota.Account }

func (m entityMeter) Take(places int) error { return m.account.Take(quota.Entities, int64(places)) }

func (m entityMeter) Give(places int) { m.account.Give(quota.Entities, int64(places)) }

func newGraph(key trace.ProcessKey, account *quota.Account) *entities.Graph {
	g := entities.New(key)
	g.Limit(entityMeter{account})
	return g
}

// retryPause is how long a process is left alone to which not everything could be attached: planning takes a part of a
// second where there are hundreds of libraries.
const retryPause = 10 * time.Second

// attach attaches what the process maps now, or will, and is not attached yet.
func (s *Session) attach(ctx context.Context, entry *process) error {
	return s.attachPlan(ctx, entry, s.planner.plan(ctx, entry.target))
}

func (s *Session) attachPlan(ctx context.Context, entry *process, made planning) error {
	if made.err != nil && (entry.ros2 || !errors.Is(made.err, probes.ErrRequiredMissing)) {
		entry.retry = time.Now().Add(retryPause)
		if ctx.Err() == nil && !errors.Is(made.err, target.ErrNoProcess) {
			entry.noteUnplanned()
		}
		return made.err
	}
	entry.unplanned = 0
	err := s.attacher.Attach(ctx, entry.probed, made.plan)
	if err != nil {
		entry.retry = time.Now().Add(retryPause)
		return err
	}
	entry.retry = time.Time{}
	if entry.recorded || !entry.ros2 {
		return nil
	}
	s.processes.mu.Lock()
	entry.recorded = true
	s.processes.mu.Unlock()
	// Listed already, unless everything is recorded: then only its exec and exit depend on it.
	return s.list(entry)
}

// youngLooks is how often a process that has just begun is looked at, at intervals that double from youngInterval: its
// libraries are mapped one after the other. Together they are about five seconds.
const (
	youngLooks    = 9
	youngInterval = 10 * time.Millisecond
)

// look attaches what is new in a process. It may be called at any time for any process.
func (s *Session) look(ctx context.Context, pid int32) {
	s.processes.mu.Lock()
	entry := s.processes.byPID[pid]
	ended := entry != nil && entry.ended
	unmet := entry != nil && entry.isUnmet()
	if entry != nil {
		entry.mapped = false
	}
	s.processes.mu.Unlock()
	if ended {
		s.bury(entry)
		return
	}
	payer, err := s.payerOf(pid, entry)
	if err != nil {
		s.turns.settle(pid)
		if entry == nil {
			s.mappings.forget(pid)
		}
		return // it was short
	}
	if !s.turns.has(payer) {
		if s.turns.postpone(pid, payer) {
			s.journal.warn(fmt.Errorf("looking at the processes of user %d takes long: what they begin to do is noticed later than usual", payer))
		}
		return
	}
	begin := time.Now()
	defer func() { s.turns.spend(payer, time.Since(begin)) }()
	switch {
	case entry == nil:
		entry = s.meet(ctx, pid)
	case unmet:
		entry = s.meetLate(ctx, entry)
	}
	if entry == nil {
		return
	}
	entry.lookedAt = begin
	entry.looks++
	err = s.refresh(ctx, entry)
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, target.ErrNoProcess) || errors.Is(err, loader.ErrProcessGone):
	case errors.Is(err, probes.ErrRequiredMissing) && entry.looks != youngLooks: // it is still mapping its libraries, or was told already
	default:
		s.journal.warn(err)
	}
	if entry.looks < youngLooks {
		time.AfterFunc(youngInterval<<entry.looks, func() { s.looks.ask(pid, isUrgent) })
	}
}

// payerOf returns in whose time a process is looked at, which may not be known yet.
func (s *Session) payerOf(pid int32, entry *process) (uint32, error) {
	if entry != nil {
		return entry.payer, nil
	}
	return s.finder.Payer(pid)
}

// bury lets go of a process that has ended. A row of it may still come, unless it never ran ROS 2.
func (s *Session) bury(entry *process) {
	s.scans.stop(entry)
	s.headers.forget(entry)
	s.blind.tell(entry)
	s.release(entry)
	defer entry.close() // after the memory that is read through it
	s.processes.mu.Lock()
	ranROS2 := entry.ros2 || entry.shown
	s.processes.mu.Unlock()
	if ranROS2 {
		s.journal.warn(s.merger.Update(entry.row.PID, func(merged *merge.Process) error {
			if merged.Key != entry.row.ProcessKey {
				return nil
			}
			return merged.CloseMemory()
		}))
		return
	}
	s.forget(entry)
}

// forget frees what is known of a process that is over.
func (s *Session) forget(entry *process) {
	s.processes.remove(entry, s.mappings.forget)
	s.journal.warn(s.merger.Forget(entry.row.ProcessKey))
}

// afterlife is how long what is known of a process is kept when it has ended: its last records are still to be read.
const afterlife = 30 * time.Second

// forgetLongEnded frees what is known of processes that no record comes of any more, so that a recording of every
// process needs no more memory the longer it goes on.
func (s *Session) forgetLongEnded(now time.Time) {
	for _, entry := range s.processes.endedBefore(now.Add(-afterlife)) {
		s.forget(entry)
		s.stale.note(entry)
	}
}

// meet decides whether a process that has begun to run a program is to be recorded.
func (s *Session) meet(ctx context.Context, pid int32) *process {
	p, err := s.finder.Inspect(ctx, pid)
	if !errors.Is(err, quota.ErrUsedUp) {
		s.turns.settle(pid)
	} else if !s.turns.refuse(pid) {
		return nil // as was said
	}
	if err != nil {
		if s.journal.warnOfRefused(err) {
			s.unlist(pid)
		}
		return nil // it was short
	}
	if !s.configuration.wants(p) || s.configuration.PIDs != "" {
		s.dropUnwanted(ctx, p)
		return nil
	}
	entry := s.enroll(ctx, p)
	if entry != nil && !s.configuration.All {
		s.journal.warn(s.list(entry))
	}
	return entry
}

// dropUnwanted lets go of a process that is not wanted. If it has begun to run another program meanwhile, this may be
// wanted.
func (s *Session) dropUnwanted(ctx context.Context, p *target.Process) {
	defer p.Close()
	if s.configuration.name == nil {
		return // the kernel has no list of new ones
	}
	s.unlist(p.PID)
	if _, err := p.Refresh(ctx); errors.Is(err, target.ErrReplaced) {
		s.journal.warn(s.loader.AddProcess(p.PID))
		s.looks.ask(p.PID, isUrgent)
	}
}

// unlist takes a process off the kernel's list, which has every new one where a name chooses.
func (s *Session) unlist(pid int32) {
	if s.configuration.name != nil {
		s.journal.warn(s.loader.RemoveProcess(pid))
	}
}

// refresh looks at a process's mappings and attaches what came.
func (s *Session) refresh(ctx context.Context, entry *process) error {
	ros2, distro, rmw := entry.ros2, entry.row.Distro, entry.row.RMWImplementation
	began := readClock(unix.CLOCK_MONOTONIC)
	changes, err := entry.target.Refresh(ctx)
	if errors.Is(err, target.ErrReplaced) {
		return s.replace(ctx, entry)
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
	s.processes.mu.Lock()
	forgotten := entry.forgotten
	entry.forgotten = false
	s.processes.mu.Unlock()
	if entry.probed.Incomplete() && entry.retry.IsZero() {
		entry.retry = time.Now().Add(retryPause)
	}
	again := !entry.retry.IsZero() && time.Now().After(entry.retry)
	if !entry.target.IsROS2() {
		return s.prepare(ctx, entry)
	}
	if changes.Empty() && entry.recorded && !forgotten && !again {
		return nil
	}
	s.processes.mu.Lock()
	entry.describeAnew()
	entry.ros2 = true
	s.processes.mu.Unlock()
	if forgotten {
		entry.scanned.begun = false
	}
	if forgotten || !ros2 || entry.row.Distro != distro {
		s.readAnew(ctx, entry)
	}
	if forgotten || !ros2 || entry.row.RMWImplementation != rmw {
		s.journal.warn(s.merger.Update(entry.row.PID, func(merged *merge.Process) error {
			merged.RMWImplementation = entry.row.RMWImplementation
			return nil
		}))
	}
	if !entry.recorded {
		s.processes.write(entry)
	}
	s.attacher.Begin(ctx, entry.probed)
	return s.attach(ctx, entry)
}

// prepare attaches what a process will map that has just begun to run a program of ROS 2, before it does.
func (s *Session) prepare(ctx context.Context, entry *process) error {
	if entry.looks >= youngLooks || !entry.target.WillRunROS2() {
		return nil
	}
	s.attacher.Begin(ctx, entry.probed)
	if entry.probed.Planned() {
		return nil
	}
	return s.attach(ctx, entry)
}

// replace begins anew with a process that runs another program now. The former one is let go of first: its user may
// have no room for both.
func (s *Session) replace(ctx context.Context, entry *process) error {
	s.scans.stop(entry)
	s.headers.forget(entry)
	s.blind.tell(entry)
	s.release(entry)
	s.attacher.Sweep() // the former program's links would match the new one, too
	s.journal.warn(s.merger.Update(entry.row.PID, (*merge.Process).CloseMemory))
	s.processes.mu.Lock()
	entry.close()
	s.processes.mu.Unlock()
	fresh := s.meetLate(ctx, entry)
	if fresh == nil {
		return nil
	}
	s.looks.ask(fresh.row.PID, isUrgent) // as at any process that has just begun
	if !fresh.ros2 && (s.configuration.All || s.configuration.name != nil) {
		return nil
	}
	s.processes.write(fresh)
	return s.attach(ctx, fresh)
}

// lookAtAsked looks at the processes that wait for it now: there may be new ones among them, of which every moment
// counts.
func (s *Session) lookAtAsked(ctx context.Context) {
	for range s.looks.count() {
		pid, ok := s.looks.next()
		if !ok {
			return
		}
		s.look(ctx, pid)
	}
}

// lookAtAll looks at the processes that are recorded, if there is reason to, and at those whose looks were forgotten.
func (s *Session) lookAtAll(ctx context.Context) {
	for _, pid := range s.turns.next() {
		s.looks.ask(pid, canWait)
	}
	pids, wanted, gone := s.processes.inTurn(func(entry *process) bool { return entry.wantsLook(s.mappings) })
	for _, entry := range gone {
		s.scans.stop(entry)
		s.headers.forget(entry)
		s.blind.tell(entry)
		s.release(entry)
		s.stale.note(entry)
		entry.close()
	}
	for _, pid := range pids {
		if wanted[pid] {
			s.look(ctx, pid)
			s.lookAtAsked(ctx)
		}
		if entry := s.processes.living(pid); entry != nil {
			s.attacher.Settle(ctx, entry.probed)
		}
	}
}

// closeMemories ends the reading of the memory of all processes.
func (s *Session) closeMemories() {
	for _, entry := range s.processes.all() {
		s.journal.warn(s.merger.Update(entry.row.PID, (*merge.Process).CloseMemory))
	}
}

// release lets what is attached to a process that is over be detached.
func (s *Session) release(entry *process) {
	if entry.probed != nil {
		s.attacher.Release(entry.probed)
	}
}

// close lets go of the operating system's process. There is nothing to do about an error.
func (p *process) close() {
	if p.target != nil {
		_ = p.target.Close()
		p.target = nil
	}
}

// targetsEnded reports whether everything that was to be recorded has ended. A name or "all" may always match something
// new.
func (s *Session) targetsEnded() bool {
	if s.configuration.All || s.configuration.name != nil {
		return false
	}
	if s.launched != nil && !s.launched.exited() {
		return false
	}
	if !s.looks.empty() {
		return false // a child may be waiting to be met
	}
	living, ros2 := s.processes.run()
	if s.launched == nil || ros2 || !living {
		return !living
	}
	// A child that the command waits for may still start a node; a daemon that it has left behind need not be waited for.
	return !s.launched.runs()
}

// onIgnored tells the kernel what the filter has decided. It is called with the merger locked.
func (s *Session) onIgnored(pid int32, address uint64, ignored bool) {
	decide := s.loader.Ignore
	if !ignored {
		decide = s.loader.Unignore
	}
	s.journal.warn(decide(pid, address))
}

// readAnew gives the merger what is known now of a process that it knows: its memory, and its implementation of rmw.
func (s *Session) readAnew(ctx context.Context, entry *process) {
	opened := s.memories.open(ctx, entry)
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

// meetLate looks at a process that is known by its records only. It returns nil if that is over, or never was to be
// looked into.
func (s *Session) meetLate(ctx context.Context, unmet *process) *process {
	p, err := s.finder.Inspect(ctx, unmet.row.PID)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		s.journal.warnOfRefused(err)
		exited := errors.Is(err, target.ErrNoProcess)
		if unmet.looks++; exited && unmet.looks < youngLooks {
			return nil // the kernel tells when that was
		}
		s.processes.end(unmet, s.clock.now(), exited)
		return nil
	}
	if unmet.undecided && !s.configuration.wants(p) {
		_ = p.Close()
		s.dismiss(unmet)
		return nil
	}
	return s.adopt(ctx, unmet, newProcess(p))
}

// dismiss ends the recording of a process that turns out not to be wanted.
func (s *Session) dismiss(unmet *process) {
	pid := unmet.row.PID
	s.unlist(pid)
	s.journal.warn(fmt.Errorf("PID %d (%s) was recorded for a moment, until it was known that --name does not fit it", pid, unmet.row.Command))
	s.journal.warn(s.merger.Update(pid, func(merged *merge.Process) error {
		merged.Unwanted = merged.Unwanted || merged.Key == unmet.row.ProcessKey
		return nil
	}))
	s.processes.end(unmet, s.clock.now(), false)
}

// adopt puts a process that was looked at in the place of what its records had led to. It returns nil if that was
// another process, whose end is still to be told.
func (s *Session) adopt(ctx context.Context, unmet, entry *process) *process {
	if !s.processes.adopt(unmet, entry) {
		entry.close()
		return nil
	}
	s.readAnew(ctx, entry)
	return entry
}

// postponeArming has a process looked at when the recording has begun, as one that begins later.
func (s *Session) postponeArming(p *target.Process, turns *turns) {
	user := p.Account().User()
	if turns.postpone(p.PID, user) {
		s.journal.warn(fmt.Errorf("attaching to the processes of user %d takes long: the recording begins without some of them", user))
	}
	s.looks.ask(p.PID, canWait)
	_ = p.Close()
}

// attachMeanwhile attaches what processes have mapped since they were planned, their users taking turns. What they map
// from then on is announced: the gate is open for that.
func (s *Session) attachMeanwhile(ctx context.Context) {
	entries := slices.DeleteFunc(s.processes.all(), func(entry *process) bool { return !entry.recorded || entry.target == nil })
	users := map[uint32]bool{}
	for _, entry := range entries {
		users[entry.payer] = true
	}
	turns := newArmingTurnsOf(users)
	for _, entry := range entries {
		if ctx.Err() != nil {
			return
		}
		if s.configuration.systemWide() && !turns.has(entry.payer) {
			s.looks.ask(entry.row.PID, canWait)
			continue
		}
		begin := time.Now()
		err := s.refresh(ctx, entry)
		turns.spend(entry.payer, time.Since(begin))
		if ctx.Err() == nil && !errors.Is(err, target.ErrNoProcess) && !errors.Is(err, loader.ErrProcessGone) {
			s.journal.warn(err)
		}
	}
}
