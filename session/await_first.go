package session

import (
	"context"
	"time"
)

// firstInterval is how often it is looked whether others run ROS 2 while no process that is recorded does.
const firstInterval = 30 * time.Second

// firstAwaited is what awaitFirst knows.
type firstAwaited struct {
	// ran says that a process that is recorded ran ROS 2 when that was last looked at.
	ran bool
	// looked is when it was last looked for others.
	looked time.Time
}

// awaitFirst has bodies attached while nobody on the machine runs ROS 2, which costs nobody anything. A program of
// which nothing is known may call tracepoints before anybody has looked at it.
func (s *Session) awaitFirst(ctx context.Context) {
	if !s.configuration.systemWide() {
		return
	}
	_, runs := s.processes.run()
	ended := s.first.ran && !runs
	s.first.ran = runs
	if runs || !ended && time.Since(s.first.looked) < firstInterval {
		return
	}
	s.first.looked = time.Now()
	if s.finder.CountROS2(ctx) > 0 {
		s.attacher.AwaitNone()
	} else if ctx.Err() == nil {
		s.attacher.AwaitFirst(ctx)
	}
}
