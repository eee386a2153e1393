package session

import (
	"context"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/target"
)

// firstInterval is how often it is looked whether others run ROS 2 while no process that is recorded does.
const firstInterval = 30 * time.Second

// firstPatience is how long that may take: memory maps can be long, and many.
const firstPatience = time.Second

// firstAwaited has bodies attached while nobody on the machine runs ROS 2, which costs nobody anything. A program of
// which nothing is known may call tracepoints before anybody has looked at it. It is of the session's own goroutine.
type firstAwaited struct {
	finder    *target.Finder
	processes *processes
	attacher  *attaching.Attacher
	// all says that every process is recorded: who runs ROS 2 and is not yet, is about to be, or could not be met.
	all bool
	// ran says that a process that is recorded ran ROS 2 when that was last looked at.
	ran bool
	// next is when to look for others, found whether there were any.
	next  time.Time
	found bool
}

// look looks whether somebody runs ROS 2 now.
func (f *firstAwaited) look(ctx context.Context) {
	_, runs := f.processes.run()
	ended := f.ran && !runs
	f.ran = runs
	switch {
	case runs:
		f.attacher.EndAwaiting()
		return
	case !ended && time.Now().Before(f.next):
		return
	}
	patient, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	others := f.finder.CountROS2(patient) > 0
	areComing := others && f.all && !f.found
	f.found, f.next = others, time.Now().Add(firstInterval)
	switch {
	case areComing:
		f.next = time.Now().Add(launchTime)
		f.attacher.AwaitFirst(ctx)
	case others:
		f.attacher.AwaitNone()
	case patient.Err() == nil: // else nobody knows
		f.attacher.AwaitFirst(ctx)
	}
}
