package session

import "sync"

// looks are the processes that somebody wants to be looked at.
type looks struct {
	// asked has an element while there are any.
	asked chan struct{}

	mu     sync.Mutex
	order  []int32
	queued map[int32]bool
}

func newLooks() *looks {
	return &looks{asked: make(chan struct{}, 1), queued: map[int32]bool{}}
}

// ask never blocks. A process that is waiting to be looked at already is looked at once.
func (l *looks) ask(pid int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queued[pid] {
		return
	}
	l.queued[pid] = true
	l.order = append(l.order, pid)
	l.wake()
}

// next returns the process that has waited longest, false if there is none.
func (l *looks) next() (int32, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.order) == 0 {
		return 0, false
	}
	pid := l.order[0]
	l.order = l.order[1:]
	delete(l.queued, pid)
	if len(l.order) > 0 {
		l.wake()
	}
	return pid, true
}

func (l *looks) wake() {
	select {
	case l.asked <- struct{}{}:
	default:
	}
}

// empty reports whether nobody waits to be looked at.
func (l *looks) empty() bool { return l.count() == 0 }

// count is how many wait to be looked at.
func (l *looks) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order)
}
