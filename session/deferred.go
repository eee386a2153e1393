package session

import (
	"context"
	"errors"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
)

// ErrNotStarted is returned for what is asked of a recording that waits for its start.
var ErrNotStarted = errors.New("the recording is armed, and waits for its start")

// errEndedBeforeStart is returned when nothing is left to record before the recording was started.
var errEndedBeforeStart = errors.New("all processes had ended before the recording was started: nothing was recorded")

// awaitStart tells that everything is attached. What processes create and destroy from now on is noted, and nothing
// else is recorded before Handle.Start.
func (s *Session) awaitStart() {
	s.losses.since = s.clock.now()
	s.losses.began = s.losses.since
	s.journal.tellGathered()
	if s.options.Observer.Armed != nil {
		s.tellStatus(trace.StateArmed)
		s.options.Observer.Armed(s.driver)
	}
}

// Start begins a recording that waits for it, and returns when it has begun. One that has begun goes on. It fails with
// ErrOver, ctx's error or what hinders the recording.
func (h *Handle) Start(ctx context.Context) error {
	if h.hasBegun() {
		return nil
	}
	return h.whileItLasts(ctx, func(ctx context.Context) error { return h.session.ask(ctx, h.session.start) })
}

func (h *Handle) hasBegun() bool { return h.begun.Load() }

// start is of the session's own goroutine.
func (s *Session) start(ctx context.Context) error {
	if s.driver.hasBegun() {
		return nil
	}
	if err := s.countLosses(); err != nil {
		return err
	}
	if s.configuration.systemWide() {
		young, _ := s.processes.areBeingLaunched()
		s.attacher.AwaitLoading(ctx, young)
	}
	if err := s.begin(); err != nil {
		s.failed <- err // it cannot go on
		return err
	}
	if d := s.configuration.Duration; d > 0 {
		s.duration.Reset(d)
	}
	return nil
}

// giveUp ends a session that was not started. read says that the reader has ended already.
func (s *Session) giveUp(ending trace.Ending, cause error, reading <-chan error, read bool) error {
	s.triggers.end()
	s.driver.close()
	s.endMappings()
	if read {
		ended := make(chan error, 1)
		ended <- nil
		reading = ended
	}
	switch {
	case cause != nil:
	case ending == trace.EndingTargetsExited:
		cause = errEndedBeforeStart
	default:
		cause = ErrNotBegun
	}
	return s.abandon(cause, reading)
}

// newDuration is the time that a recording lasts, which begins with it. It never comes where there is no limit.
func newDuration(begun bool, lasts time.Duration) *time.Timer {
	timer := time.NewTimer(lasts)
	if !begun || lasts == 0 {
		timer.Stop()
	}
	return timer
}
