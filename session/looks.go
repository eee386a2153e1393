package session

import "sync"

// looks are the processes that somebody wants to be looked at.
type looks struct {
	// asked has an element while there are any.
	asked chan struct{}

	mu sync.Mutex
	// urgent are those that have just begun something, of which every moment counts. The others can wait.
	urgent, others []int32
	queued         map[int32]urgency
	// inARow is how many urgent ones were taken since one of the others was.
	inARow int
}

type urgency uint8

const (
	canWait urgency = iota + 1
	isUrgent
)

// maxInARow is how many urgent ones are taken before one of the others that wait: who starts one program after the
// other must not have everybody else forgotten.
const maxInARow = 3

func newLooks() *looks {
	return &looks{asked: make(chan struct{}, 1), queued: map[int32]urgency{}}
}

// ask never blocks. A process that is waiting to be looked at already is looked at once, by the more urgent reason.
func (l *looks) ask(pid int32, how urgency) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queued[pid] >= how {
		return
	}
	l.queued[pid] = how
	if how == isUrgent {
		l.urgent = append(l.urgent, pid)
	} else {
		l.others = append(l.others, pid)
	}
	l.wake()
}

// next returns the process that has waited longest of those whose turn it is, false if there is none.
func (l *looks) next() (int32, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropPromoted()
	if len(l.queued) == 0 {
		return 0, false
	}
	from := &l.urgent
	l.inARow++
	if len(l.urgent) == 0 || len(l.others) > 0 && l.inARow > maxInARow {
		from, l.inARow = &l.others, 0
	}
	pid := (*from)[0]
	*from = (*from)[1:]
	delete(l.queued, pid)
	if len(l.queued) > 0 {
		l.wake()
	}
	return pid, true
}

// dropPromoted takes those from the head of the others that wait among the urgent ones by now, or were looked at there.
func (l *looks) dropPromoted() {
	for len(l.others) > 0 && l.queued[l.others[0]] != canWait {
		l.others = l.others[1:]
	}
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
	return len(l.queued)
}
