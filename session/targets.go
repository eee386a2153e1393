package session

import (
	"context"
	"fmt"
	"os"

	"github.com/caret-bpf/caret-bpf/launch"
	"github.com/caret-bpf/caret-bpf/target"
)

// findTargets finds the processes that exist before the recording. Those that were named and cannot be recorded are
// warned of: such a list comes from pgrep, which finds wrappers such as `ros2 run` as well. It fails when none is left.
func (s *Session) findTargets(ctx context.Context) ([]*target.Process, error) {
	c := s.configuration
	switch {
	case c.PIDs != "":
		found, refused, err := s.finder.ByPIDs(ctx, c.PIDs)
		if err != nil {
			return nil, err
		}
		for _, err := range refused {
			s.journal.warn(fmt.Errorf("not recorded: %w", err))
		}
		return found, nil
	case c.name != nil:
		found, err := s.finder.ByName(ctx, c.name)
		return found, s.warnUnlessOver(ctx, err)
	case c.All:
		found, err := s.finder.All(ctx)
		return found, s.warnUnlessOver(ctx, err)
	}
	return nil, nil
}

// warnUnlessOver warns of processes that could not be looked into. That the user does not want a recording any more is
// no warning.
func (s *Session) warnUnlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.journal.warn(err)
	return nil
}

// planToCome plans what processes to come will map, where these are to be recorded.
func (s *Session) planToCome(ctx context.Context) <-chan []*prepared {
	if s.configuration.systemWide() {
		return s.prefixes.prepare(ctx)
	}
	none := make(chan []*prepared, 1)
	none <- nil
	return none
}

// startCommand starts the command's process, which waits to be released.
func (s *Session) startCommand(ctx context.Context, command []string) (err error) {
	if s.launched, err = launch.Start(s.finder, s.options.Caller, command, os.Environ()); err != nil {
		return err
	}
	if s.options.Observer.Launched != nil {
		s.options.Observer.Launched(s.launched.PID())
	}
	return s.launched.AwaitReady(ctx)
}

// addCommand arms what the command will map.
func (s *Session) addCommand(ctx context.Context) error {
	p, err := s.finder.Inspect(ctx, int32(s.launched.PID()))
	if err != nil {
		return err
	}
	return s.follower.add(ctx, p, s.planner.plan(ctx, p))
}
