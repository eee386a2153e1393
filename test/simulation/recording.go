package simulation

import "github.com/caret-bpf/caret-bpf/trace"

// recording is what one recorder sees, from begin to end. Its clock is ahead of true time.
type recording struct {
	system     *System
	number     int
	begin, end int64
	ahead      int64
	bootID     string
	rows       trace.Batch
}

// sees tells whether what happens at a time is recorded.
func (r *recording) sees(at int64) bool { return at != 0 && r.begin <= at && at < r.end }

// stamp is a time as it is recorded.
func (r *recording) stamp(at int64) int64 { return at/r.system.clockStep*r.system.clockStep + r.ahead }

// stampIfSeen is null where the time is not recorded.
func (r *recording) stampIfSeen(at int64) trace.Optional[int64] {
	if !r.sees(at) {
		return trace.Optional[int64]{}
	}
	return trace.Some(r.stamp(at))
}

// common is a recorded time as answers have it: on the clock of the first recording, or, of several hosts, in real
// time.
func (r *recording) common(at int64) int64 {
	if r.system.oneBoot {
		return r.stamp(at) - r.ahead + r.system.recordings[0].ahead
	}
	return r.stamp(at)
}

// commonIfSeen is null where the time is not recorded.
func (r *recording) commonIfSeen(at int64) trace.Optional[int64] {
	if !r.sees(at) {
		return trace.Optional[int64]{}
	}
	return trace.Some(r.common(at))
}
