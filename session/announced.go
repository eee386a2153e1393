package session

import (
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// intraProcessSeen says that a process has created a subscription with intra-process communication.
type intraProcessSeen struct {
	pid int32
	at  int64 // CLOCK_MONOTONIC in nanoseconds, 0 where it is not known
}

// announced is what the kernel and the merger announce of processes, for the session's own goroutine. Its methods are
// called with the merger locked, and never wait.
type announced struct {
	// Set once.
	clock     datasetClock
	processes *processes
	mappings  *mappings
	starts    *recentStarts
	looks     *looks

	loads          chan int32            // PIDs of processes that change their libraries
	intraProcesses chan intraProcessSeen // processes that begin with intra-process communication
}

func newAnnounced(clock datasetClock, processes *processes, mappings *mappings, starts *recentStarts, looks *looks) *announced {
	return &announced{
		clock: clock, processes: processes, mappings: mappings, starts: starts, looks: looks,
		loads: make(chan int32, 4096), intraProcesses: make(chan intraProcessSeen, 64),
	}
}

// onProcess is told by the kernel of forks, execs, exits and changes of libraries.
func (a *announced) onProcess(record abi.ProcessRecord) {
	pid := int32(record.Header.PID)
	switch record.Header.Status {
	case abi.ProcessFork, abi.ProcessExec:
		program := record.Header.Status == abi.ProcessExec
		a.processes.noteBegin(pid, record.Start(), int64(record.TimeNs)+a.clock.RealtimeOffset, program, record.CommandName())
		how := isUrgent
		if !program {
			how = canWait
			a.mappings.beginProcess(pid, int64(record.TimeNs))
		}
		a.starts.note(pid, processStart{record.Start(), record.CommandName(), int64(record.TimeNs)})
		a.looks.ask(pid, how)
	case abi.ProcessLoad:
		select {
		case a.loads <- pid:
		default: // the next tick looks at all processes
		}
	case abi.ProcessExit:
		a.processes.noteExit(pid, record.Start(), int64(record.TimeNs)+a.clock.RealtimeOffset)
		a.looks.ask(pid, canWait)
	}
}

// onIntraProcess is told of a new subscription with intra-process communication.
func (a *announced) onIntraProcess(pid int32, at int64) {
	select {
	case a.intraProcesses <- intraProcessSeen{pid, at}:
	default: // the next tick looks at all processes
	}
}
