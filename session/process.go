package session

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/attaching"
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

	// wantedFrom is since when it is to be recorded, if it was added while recording; CLOCK_MONOTONIC in nanoseconds.
	wantedFrom int64
	target     *target.Process // nil before anybody has looked, and if it was gone then
	// armings say since when files are probed, where it is not yet clear whether the process had mapped them before.
	armings []arming
	// probed is what is attached to it; nil if target was nil from the beginning. It is set once.
	probed *attaching.Process
	// retry is from when on planning and attaching, which have failed, are tried again; zero: they have not.
	retry time.Time
	// headers are the addresses that the kernel side knows the header offset of.
	headers map[uint64]bool
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
	// judged says that all is told of when its files were not probed, toldBlind that it is that none was.
	judged    bool
	toldBlind bool
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

// close lets go of the operating system's process. There is nothing to do about an error.
func (p *process) close() {
	if p.target != nil {
		_ = p.target.Close()
		p.target = nil
	}
}

// isRecorded reports whether a process is recorded as one of ROS 2. The processes are locked.
func (p *process) isRecorded() bool { return p.recorded && !p.ended }

// isUnmet reports whether a process is known by its records only, and is to be looked at.
func (p *process) isUnmet() bool { return p.target == nil && !p.ended }
