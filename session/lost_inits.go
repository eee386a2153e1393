package session

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/entities"
	"github.com/caret-bpf/caret-bpf/merge"
)

// lostInits notices when records of initialization events are lost. Then addresses may have changed hands unseen, and a
// name that is known of one is perhaps another entity's.
type lostInits struct {
	count atomic.Uint64 // at the last look
	at    int64         // when that was, on CLOCK_MONOTONIC in nanoseconds; of the reader
}

// look asks how many have been lost until now. It returns what is to be said to the merger before it gets records that
// were made meanwhile, and after it.
func (l *lostInits) look(ask func() (uint64, error)) (doubt func(*merge.Merger), err error) {
	now := readClock(unix.CLOCK_MONOTONIC)
	count, err := ask()
	if err != nil {
		return nil, err
	}
	before := l.at
	l.at = now
	if l.count.Swap(count) == count {
		return func(*merge.Merger) {}, nil
	}
	until := readClock(unix.CLOCK_MONOTONIC)
	return func(m *merge.Merger) { m.Doubt(before, until) }, nil
}

// meanwhile reports whether some may have been lost since the last look.
func (l *lostInits) meanwhile(ask func() (uint64, error)) bool {
	count, err := ask()
	return err != nil || count != l.count.Load()
}

var errLostMeanwhile = errors.New("initialization events were lost meanwhile: another entity may be there now")

// watchedMemory is the memory of a process, of which nothing is read once initialization events were lost that the
// merger has not heard of: who lives at an address may be another one than the record means that is being merged.
type watchedMemory struct {
	understoodMemory
	lost func() bool
}

// understoodMemory is memory with the code in it, as an *entities.ProcessMemory is.
type understoodMemory interface {
	entities.Memory
	entities.Code
}

func (m watchedMemory) ReadAt(p []byte, address uint64) error {
	if err := m.understoodMemory.ReadAt(p, address); err != nil {
		return err
	}
	if m.lost() {
		return errLostMeanwhile
	}
	return nil
}
