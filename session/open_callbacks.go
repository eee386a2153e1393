package session

import (
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/merge"
)

// openThreads are the states of threads as they were read before and after an instant on CLOCK_MONOTONIC.
type openThreads struct {
	at             int64
	earlier, later map[uint32][]byte
}

// readOpenThreads reads what threads have open, which goes on meanwhile. It takes nothing from them.
func (s *Session) readOpenThreads() (open openThreads, err error) {
	if open.earlier, err = s.threadStates(); err != nil {
		return open, err
	}
	open.at = readClock(unix.CLOCK_MONOTONIC)
	open.later, err = s.threadStates()
	return open, err
}

func (s *Session) threadStates() (map[uint32][]byte, error) {
	threads, err := s.loader.Threads()
	states := make(map[uint32][]byte, len(threads))
	for _, thread := range threads {
		states[thread.TID] = thread.State
	}
	return states, err
}

// tell has rows made of the callbacks that were open.
func (o openThreads) tell(m *merge.Merger) error {
	for tid, earlier := range o.earlier {
		later, there := o.later[tid]
		if !there {
			continue // its records are in the ring buffer
		}
		if err := m.AddOpenCallbacks(uint64(o.at), earlier, later); err != nil {
			return err
		}
	}
	return nil
}
