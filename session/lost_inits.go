package session

import (
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/merge"
)

// lostInits notices when records of initialization events are lost. Then addresses may have changed hands unseen, and a
// name that is known of one is perhaps another entity's.
type lostInits struct {
	count uint64 // at the last look
	at    int64  // when that was, on CLOCK_MONOTONIC in nanoseconds
}

// look asks how many have been lost until now. It returns what is to be said to the merger before it gets records that
// were made meanwhile, and after it.
func (l *lostInits) look(ask func() (uint64, error)) (doubt func(*merge.Merger), err error) {
	now := readClock(unix.CLOCK_MONOTONIC)
	count, err := ask()
	if err != nil {
		return nil, err
	}
	before := *l
	*l = lostInits{count, now}
	if count == before.count {
		return func(*merge.Merger) {}, nil
	}
	until := readClock(unix.CLOCK_MONOTONIC)
	return func(m *merge.Merger) { m.Doubt(before.at, until) }, nil
}
