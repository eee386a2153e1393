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
		s.warn(err) // then processes are taken to have had all files from their beginning
		return func() {}
	}
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
		s.warn(watched.Close())
	}
}

// noteMappings notes those of processes that are recorded, or may be.
func (s *Session) noteMappings(watched *loader.Mappings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	watched.Read(func(event loader.MappingEvent) {
		if s.configuration.PIDs != "" && s.processes[event.PID] == nil {
			return
		}
		s.mappings.note(event)
	})
	if lost := watched.Lost(); lost != s.mappingsLost {
		s.mappingsLost = lost
		s.mappings.lostAt = readClock(unix.CLOCK_MONOTONIC)
	}
}
