package session

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
)

// rememberedStarts is how many processes recentStarts keeps at least.
const rememberedStarts = 1 << 14

// processStart is what the kernel says of a process that begins: when, nanoseconds since boot to the clock tick, and
// the name of its program.
type processStart struct {
	time    int64
	command string
	// announced is when the kernel said so, CLOCK_MONOTONIC in nanoseconds.
	announced int64
}

// unreadFor is how long after a process was announced records of it may still be unread though it is over.
const unreadFor = 10 * time.Second

// isOfFormer reports whether what is read now of the PID that a process has is of one that was announced, and not of
// this one: it has got the PID, and nothing of it was read yet.
func (r *recentStarts) isOfFormer(process trace.ProcessKey) bool {
	former := r.of(process.PID)
	return former.time != 0 && former.time != process.ProcessStart && readClock(unix.CLOCK_MONOTONIC)-former.announced < int64(unreadFor)
}

// recentStarts are the starts of the processes that the kernel announced last, by PID. A record of a process that was
// too short to be looked at comes soon after its announcement, so older ones may be forgotten; on a machine that starts
// processes all the time they must be. They may be used by several goroutines.
type recentStarts struct {
	mu           sync.Mutex // guards what follows; it is locked last
	fresh, stale map[int32]processStart
}

func (r *recentStarts) note(pid int32, start processStart) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.fresh) >= rememberedStarts {
		r.fresh, r.stale = nil, r.fresh
	}
	if r.fresh == nil {
		r.fresh = make(map[int32]processStart)
	}
	r.fresh[pid] = start
}

// of returns nothing for a process that was not announced, or long ago.
func (r *recentStarts) of(pid int32) processStart {
	r.mu.Lock()
	defer r.mu.Unlock()
	if start, known := r.fresh[pid]; known {
		return start
	}
	return r.stale[pid]
}
