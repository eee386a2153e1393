package session

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// rotateEvery rotates the recording after each period until it ends. What could not be moved stays in the recording,
// and goes with the next rotation.
func rotateEvery(ended context.Context, period time.Duration, rotate func(context.Context) error, warn func(error)) {
	due := time.NewTicker(period)
	defer due.Stop()
	for {
		select {
		case <-due.C:
		case <-ended.Done():
			return
		}
		if err := rotate(ended); err != nil && !errors.Is(err, ErrOver) {
			warn(fmt.Errorf("--rotate-every: not rotated: %w", err))
		}
	}
}

// beginRotations rotates the recording as it is configured.
func (s *Session) beginRotations() {
	if s.configuration.RotateEvery == 0 {
		return
	}
	go rotateEvery(s.driver.ended, s.configuration.RotateEvery, func(ctx context.Context) error {
		_, err := s.driver.Rotate(ctx, RotationRequest{Reason: "--rotate-every " + s.configuration.RotateEvery.String()})
		return err
	}, s.journal.warn)
}
