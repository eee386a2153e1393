package session

import (
	"context"
	"errors"
)

// request is something that the session's own goroutine is to do for another one.
type request struct {
	do   func(ctx context.Context) error
	done chan<- error
}

// ask has the session's own goroutine do something, and returns when it has. It fails with ErrOver if the recording
// ends first, or with ctx's error.
func (s *Session) ask(ctx context.Context, do func(ctx context.Context) error) error {
	done := make(chan error, 1)
	select {
	case s.requests <- request{do, done}:
		return <-done
	case <-s.triggers.ending.Done():
		return ErrOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

// countLossesNow has the rows of losses that were until now, unless the recording ends, which counts them itself.
func (s *Session) countLossesNow(ctx context.Context) error {
	err := s.ask(ctx, func(context.Context) error { return s.countLosses() })
	if errors.Is(err, ErrOver) {
		return nil
	}
	return err
}
