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
	// all says that every process is recorded: who runs ROS 2 and is not yet, is about to be.
	all bool
	// ran says that a process that is recorded ran ROS 2 when that was last looked at.
	ran bool
	// looked is when it was last looked for others.
	looked time.Time
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
	case !ended && time.Since(f.looked) < firstInterval:
		return
	}
	defer func() { f.looked = time.Now() }()
	patient, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	switch others := f.finder.CountROS2(patient); {
	case others > 0 && !f.all:
		f.attacher.AwaitNone()
	case patient.Err() == nil: // else nobody knows
		f.attacher.AwaitFirst(ctx)
	}
}
