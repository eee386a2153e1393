package session

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/trace"
)

// processes are those that are or were recorded, or may be, by PID. Their rows are written here.
type processes struct {
	// Set once.
	clock   datasetClock
	sink    *rows
	journal *journal

	mu    sync.Mutex // guards what follows, and what processes say; it is locked after the merger, before mappings and the journal
	byPID map[int32]*process
	gone  []*process // whose PIDs other processes have
	rows  uint64     // that were written
	open  bool       // the recording has begun
	were  bool       // since then some were recorded
}

func newProcesses(clock datasetClock, sink *rows, journal *journal) *processes {
	return &processes{clock: clock, sink: sink, journal: journal, byPID: map[int32]*process{}}
}

// begin gives a process its place that begins to be recorded.
func (p *processes) begin(entry *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		entry.row.RecordingStartTimestamp = trace.Some(p.clock.now())
	}
	p.place(entry)
}

// put gives a process its place of which nothing more is to be recorded.
func (p *processes) put(entry *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place(entry)
}

// place lets a process have its PID. Who had it before is over, although nothing has told of it. The processes are
// locked.
func (p *processes) place(entry *process) {
	if former := p.byPID[entry.row.PID]; former != nil {
		p.gone = append(p.gone, former)
	}
	p.byPID[entry.row.PID] = entry
}

// adopt puts a process that was looked at in the place of what its records had led to. It reports whether that was no
// other process, whose end is still to be told.
func (p *processes) adopt(unmet, entry *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byPID[entry.row.PID] != unmet || unmet.ended || unmet.row.ProcessKey != entry.row.ProcessKey {
		return false
	}
	entry.row.RecordingStartTimestamp, entry.told, entry.shown = unmet.row.RecordingStartTimestamp, unmet.told, unmet.shown
	p.byPID[entry.row.PID] = entry
	return true
}

// remove frees a process's place, if it has one still, and has forgotten what is known of its PID, with the processes
// locked.
func (p *processes) remove(entry *process, forget func(pid int32)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byPID[entry.row.PID] == entry {
		delete(p.byPID, entry.row.PID)
		forget(entry.row.PID)
	}
}

// find returns the process that has a PID, or had it last; nil if there is none.
func (p *processes) find(pid int32) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byPID[pid]
}

// living returns a process that has not ended, nil if there is none with the PID.
func (p *processes) living(pid int32) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.byPID[pid]
	if entry == nil || entry.ended || entry.target == nil {
		return nil
	}
	return entry
}

// all are the processes as they are now.
func (p *processes) all() []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.byPID), func(a, b *process) int { return cmp.Compare(a.row.PID, b.row.PID) })
}

// allGone are those whose PIDs other processes have.
func (p *processes) allGone() []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gone)
}

// count is how many processes are recorded.
func (p *processes) count() (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.byPID {
		if entry.isRecorded() {
			count++
		}
	}
	return count
}

// run reports whether there are processes that have not ended, and whether any of them runs ROS 2.
func (p *processes) run() (living, ros2 bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.byPID {
		living = living || !entry.ended
		ros2 = ros2 || entry.ros2 && !entry.ended
	}
	return living, ros2
}

// areGone reports whether some processes were recorded, and none of them is any more.
func (p *processes) areGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.byPID {
		if entry.ros2 && !entry.ended {
			return false
		}
	}
	return p.were
}

// launchTime is how long after one process of a vehicle others may begin.
const launchTime = 10 * time.Second

// areBeingLaunched reports whether any has just begun: others are about to. young are those that something is attached
// to. It is to be called by the session's own goroutine.
func (p *processes) areBeingLaunched() (young []*attaching.Process, launching bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := readClock(unix.CLOCK_BOOTTIME) - int64(launchTime)
	for _, entry := range p.byPID {
		if entry.ended || entry.row.ProcessStart <= since {
			continue
		}
		launching = true
		if entry.probed != nil {
			young = append(young, entry.probed)
		}
	}
	return young, launching
}

// isUsed reports whether a process has the PID, or records may come of the one that had it.
func (p *processes) isUsed(pid int32) bool {
	return p.find(pid) != nil || unix.Kill(int(pid), 0) != unix.ESRCH
}

// start notes that the recording began at an instant of the dataset's clock.
func (p *processes) start(at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.byPID {
		entry.row.RecordingStartTimestamp = trace.Some(at)
		p.tell(entry)
		p.were = p.were || entry.ros2 && !entry.ended
	}
	p.open = true
}

// show gives a process its row when the first record of it comes: every process key of the dataset has one. It is
// called with the merger locked.
func (p *processes) show(key trace.ProcessKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.byPID[key.PID]
	if entry == nil || entry.row.ProcessKey != key {
		// It was given up as none of ROS 2's, just before.
		entry = &process{row: trace.Process{ProcessKey: key, Exited: true}, ended: true}
	}
	entry.shown = true
	p.tell(entry)
}

// noteBegin notes that a process has begun, or one that was known a program, which has a name, at an instant of the
// dataset's clock. If another one is known by the PID, its end was not told.
func (p *processes) noteBegin(pid int32, start, at int64, program bool, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.byPID[pid]
	switch {
	case entry == nil:
	case entry.row.ProcessStart != start:
		p.over(entry, at, true)
		delete(p.byPID, pid)
		p.gone = append(p.gone, entry)
	case entry.ended: // it was over before its begin was read
	case program:
		entry.forgotten = true
		// It may be over before anybody looks at it. Of one that ran ROS 2 the row is of what it did then.
		if row := &entry.row; !entry.ros2 && row.Command != name {
			row.Command, row.Executable, row.CommandLine = name, "", ""
		}
	}
}

// noteExit notes that the process has ended, at an instant of the dataset's clock, that has or had a PID and began at
// start. Another one may have got the PID before this is read.
func (p *processes) noteExit(pid int32, start, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isIt := func(entry *process) bool { return entry.row.PID == pid && entry.row.ProcessStart == start }
	if entry := p.byPID[pid]; entry != nil && isIt(entry) {
		p.over(entry, at, true)
	} else if index := slices.IndexFunc(p.gone, isIt); index >= 0 {
		p.over(p.gone[index], at, true)
	}
}

// end writes the last row of a process.
func (p *processes) end(entry *process, at int64, exited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over(entry, at, exited)
}

// refuse ends a process that was to be recorded and could not be. It has no row, unless others lead to it.
func (p *processes) refuse(entry *process, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.ros2 = false
	p.over(entry, at, false)
}

// endAll writes the last rows of all.
func (p *processes) endAll(at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endGone()
	for _, entry := range p.byPID {
		p.over(entry, at, entry.target != nil && !entry.target.Alive())
	}
}

// endGone ends those whose PIDs other processes have, if nothing has told of it. The processes are locked.
func (p *processes) endGone() {
	for _, entry := range p.gone {
		p.over(entry, p.clock.now(), true)
	}
}

// over notes that a process has ended. The processes are locked.
func (p *processes) over(entry *process, at int64, exited bool) {
	if entry.ended {
		return
	}
	entry.ended = true
	entry.endedAt = time.Now()
	entry.row.Exited = exited
	entry.row.RecordingEndTimestamp = trace.Some(at)
	p.tell(entry)
}

// write writes the row of a process.
func (p *processes) write(entry *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(entry)
}

// tell writes the row of a process as known now, if it runs ROS 2 and the row is news. The processes are locked.
func (p *processes) tell(entry *process) {
	if !entry.ros2 && !entry.shown || entry.row == entry.told {
		return
	}
	entry.told = entry.row
	p.were = p.were || p.open
	p.journal.noteTarget(entry.row)
	p.rows++
	row := entry.row
	row.Revision = p.rows
	p.journal.gather(p.sink.Write(&trace.Batch{Processes: []trace.Process{row}}))
}

// endedBefore are the processes that have ended before an instant.
func (p *processes) endedBefore(instant time.Time) (over []*process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.byPID {
		if entry.ended && entry.endedAt.Before(instant) {
			over = append(over, entry)
		}
	}
	return over
}

// inTurn are the PIDs of those that have not ended, first of those that were put off, and which of them are to be
// looked at: those who have ended meanwhile, and those that a function wants, which is called with the processes
// locked. It also hands over those whose PIDs other processes have.
func (p *processes) inTurn(wantsLook func(*process) bool) (pids []int32, wanted map[int32]bool, gone []*process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endGone()
	gone, p.gone = p.gone, nil
	wanted = map[int32]bool{}
	for _, entry := range slices.SortedFunc(maps.Values(p.byPID), func(a, b *process) int {
		return cmp.Or(a.lookedAt.Compare(b.lookedAt), cmp.Compare(a.row.PID, b.row.PID))
	}) {
		pid := entry.row.PID
		if entry.ended {
			continue
		}
		if entry.target != nil && !entry.target.Alive() {
			p.over(entry, p.clock.now(), true)
		}
		pids = append(pids, pid)
		wanted[pid] = entry.ended || wantsLook(entry) // a look buries who has ended
	}
	return pids, wanted, gone
}

// close lets go of all of them.
func (p *processes) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.byPID {
		entry.close()
	}
	for _, entry := range p.gone {
		entry.close()
	}
}
