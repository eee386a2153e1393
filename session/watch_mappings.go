package session

import (
	"context"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
)

// mappingInterval is how often it is read which files were mapped. What the kernel has no room for meanwhile is
// counted.
const mappingInterval = 50 * time.Millisecond

// watchMappings notes what processes map, until the function that it returns is called: then all is noted.
func (s *Session) watchMappings() (end func()) {
	watched, err := loader.WatchMappings()
	if err != nil {
		s.journal.warn(err) // then processes are taken to have had all files from their beginning, and are looked at each second
		return func() {}
	}
	s.mappings.begin()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(mappingInterval)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
			s.noteMappings(watched)
		}
	}()
	return func() {
		cancel()
		<-ended
		s.journal.warn(watched.Close())
	}
}

// noteMappings notes those of processes that are recorded, or may be.
func (s *Session) noteMappings(watched *loader.Mappings) {
	complete := watched.Complete()
	s.processes.mu.Lock()
	defer s.processes.mu.Unlock()
	s.mappings.read(watched, complete, func(pid int32) bool {
		entry := s.processes.byPID[pid]
		if entry != nil {
			s.noteMapped(entry)
		}
		return entry != nil || s.configuration.systemWide()
	})
}

const (
	// askPause is how long a process that maps one file after the other is left alone, at least.
	askPause = 200 * time.Millisecond
	// unaskedPause is after how long a process is looked at without any reason.
	unaskedPause = 30 * time.Second
)

// noteMapped has a process looked at that has mapped something: soon, or with the others. The processes are locked.
func (s *Session) noteMapped(entry *process) {
	entry.mapped = true
	if now := time.Now(); now.Sub(entry.askedAt) > askPause {
		entry.askedAt = now
		s.looks.ask(entry.row.PID, isUrgent)
	}
}

// wantsLook reports whether there is reason to look at a process, or not all of its mappings may have been told. The
// processes are locked.
func (s *Session) wantsLook(entry *process) bool {
	switch {
	case entry.mapped, s.mappings.mayLack(entry.refreshed):
		return true
	case entry.target == nil, entry.looks < youngLooks:
		return true
	case !entry.retry.IsZero(), entry.unplanned != 0, entry.probed.Incomplete():
		return true
	}
	return time.Since(entry.lookedAt) > unaskedPause
}
