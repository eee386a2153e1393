package session

import "context"

// libraryLoad is the dynamic linker's word that a process changes its libraries.
type libraryLoad struct {
	pid int32
	at  int64 // CLOCK_MONOTONIC in nanoseconds
}

// intraProcessSeen says that a process has created a subscription with intra-process communication.
type intraProcessSeen struct {
	pid int32
	at  int64 // CLOCK_MONOTONIC in nanoseconds, 0 where it is not known
}

// followLoad attaches what a process may need that changes its libraries. What it loads is looked for soon.
func (s *Session) followLoad(ctx context.Context, load libraryLoad) {
	entry := s.processes.living(load.pid)
	if entry == nil {
		return
	}
	s.attacher.LibrariesChange(ctx, entry.probed, load.at)
	if entry.looks >= youngLooks {
		entry.looks = 0 // as of a process that has just begun: libraries are mapped one after the other
		s.askToLookFirst(load.pid)
	}
}

// onIntraProcess is told of a new subscription with intra-process communication. It is called with the merger locked.
func (s *Session) onIntraProcess(pid int32, at int64) {
	select {
	case s.intraProcesses <- intraProcessSeen{pid, at}:
	default: // the next tick looks at all processes
	}
}

// followIntraProcess makes sure that a process is probed that has begun with intra-process communication.
func (s *Session) followIntraProcess(ctx context.Context, seen intraProcessSeen) {
	if entry := s.processes.living(seen.pid); entry != nil {
		s.attacher.AwaitIntraProcess(ctx, entry.probed, seen.at)
	}
}
