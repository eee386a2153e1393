package session

// rememberedStarts is how many processes recentStarts keeps at least.
const rememberedStarts = 1 << 14

// processStart is what the kernel says of a process that begins: when, nanoseconds since boot to the clock tick, and
// the name of its program.
type processStart struct {
	time    int64
	command string
}

// recentStarts are the starts of the processes that the kernel announced last, by PID. A record of a process that was
// too short to be looked at comes soon after its announcement, so older ones may be forgotten; on a machine that starts
// processes all the time they must be.
type recentStarts struct {
	fresh, stale map[int32]processStart
}

func (r *recentStarts) note(pid int32, start processStart) {
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
	if start, known := r.fresh[pid]; known {
		return start
	}
	return r.stale[pid]
}
