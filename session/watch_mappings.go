package session

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

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
	s.mu.Lock()
	s.mappings.told = true
	s.mu.Unlock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	watched.Read(func(event loader.MappingEvent) {
		if s.configuration.PIDs != "" && s.processes[event.PID] == nil {
			return
		}
		s.mappings.note(event)
		if entry := s.processes[event.PID]; entry != nil {
			s.noteMapped(entry)
		}
	})
	if lost := watched.Lost(); lost != s.mappingsLost || !complete {
		s.mappingsLost = lost
		s.mappings.lostAt = readClock(unix.CLOCK_MONOTONIC)
	}
}

const (
	// askPause is how long a process that maps one file after the other is left alone, at least.
	askPause = 200 * time.Millisecond
	// unaskedPause is after how long a process is looked at without any reason.
	unaskedPause = 30 * time.Second
)

// noteMapped has a process looked at that has mapped something: soon, or with the others. The session is locked.
func (s *Session) noteMapped(entry *process) {
	entry.mapped = true
	if now := time.Now(); now.Sub(entry.askedAt) > askPause {
		entry.askedAt = now
		s.askToLookFirst(entry.row.PID)
	}
}

// wantsLook reports whether there is reason to look at a process, or not all of its mappings may have been told. The
// session is locked.
func (s *Session) wantsLook(entry *process) bool {
	switch {
	case !s.mappings.told, entry.mapped, entry.refreshed < s.mappings.lostAt:
		return true
	case entry.target == nil, entry.looks < youngLooks:
		return true
	case !entry.retry.IsZero(), entry.unplanned != 0, entry.probed.Incomplete():
		return true
	}
	return time.Since(entry.lookedAt) > unaskedPause
}
