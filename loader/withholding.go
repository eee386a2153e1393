package loader

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/caret-bpf/caret-bpf/bpf"
	"github.com/caret-bpf/caret-bpf/bpf/abi"
)

// errChanging is returned for what cannot be done while all links are replaced.
var errChanging = errors.New("a change of all links is under way")

// Withhold has nothing be recorded of a process from one instant on, whatever is attached to it, until Admit.
// Everything is recorded until at, on CLOCK_MONOTONIC in nanoseconds, which is just before. When it returns, nothing is
// under way that began before.
func (l *Loader) Withhold(process int32) (at int64, err error) { return l.withhold(process, false) }

// WithholdAllButEntities does so for a process to which nothing is attached yet, but for what it creates and destroys.
func (l *Loader) WithholdAllButEntities(process int32) error {
	_, err := l.withhold(process, true)
	return err
}

func (l *Loader) withhold(process int32, entities bool) (at int64, err error) {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	switch {
	case l.detached:
		return 0, ErrClosed
	case l.change != nil:
		return 0, errChanging
	}
	l.links.withholds = true
	err = l.beforeLaterHits(func() error {
		if err := l.setRule(l.links, l.links.rule()); err != nil {
			return err
		}
		at = monotonicNow()
		return l.processes.withhold(process, entities)
	})
	if err != nil {
		return 0, errors.Join(fmt.Errorf("withholding PID %d: %w", process, err), l.admit(process))
	}
	return at, nil
}

// Admit ends a Withhold: what is attached to the process is recorded from one instant on.
func (l *Loader) Admit(process int32) error {
	l.attachMutex.Lock()
	defer l.attachMutex.Unlock()
	if l.change != nil {
		return errChanging
	}
	return l.admit(process)
}

func (l *Loader) admit(process int32) error {
	some, err := l.processes.admit(process)
	if some || err != nil {
		return err
	}
	l.links.withholds = false
	return l.setRule(l.links, l.links.rule())
}

// TakeThreads returns the state of the threads of a process, and has the kernel side forget it. It is complete and
// still only while the process is withheld.
func (l *Loader) TakeThreads(process int32) (taken []ThreadState, err error) {
	all, err := l.Threads()
	if err != nil {
		return nil, err
	}
	var state abi.ThreadState
	for _, thread := range all {
		if err := abi.Decode(thread.State, &state); err != nil {
			return nil, err
		}
		if int32(state.PID) != process {
			continue
		}
		if err := l.collection.Maps[bpf.CaretMapThreads].Delete(thread.TID); errors.Is(err, ebpf.ErrKeyNotExist) {
			continue // it has ended, and was told of
		} else if err != nil {
			return nil, fmt.Errorf("forgetting the state of thread %d: %w", thread.TID, err)
		}
		taken = append(taken, thread)
	}
	return taken, nil
}
