package session

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
)

// watch serves the running session until something ends it: cause is the error, if one does, and read says that the
// reader has ended.
func (s *Session) watch(ctx context.Context, reading <-chan error) (ending trace.Ending, cause error, read bool) {
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	losses := time.NewTicker(lossInterval)
	defer losses.Stop()
	clock := time.NewTicker(clockInterval)
	defer clock.Stop()
	s.duration = newDuration(s.driver.hasBegun(), s.configuration.Duration)
	defer s.duration.Stop()
	for {
		select {
		case <-ctx.Done():
			return trace.EndingSignal, nil, false
		case <-s.duration.C:
			return trace.EndingDuration, nil, false
		case <-s.driver.stopped:
			return trace.EndingRequest, nil, false
		case err := <-reading:
			return trace.EndingError, err, true
		case <-s.looks.asked:
			if pid, ok := s.looks.next(); ok {
				s.follower.look(ctx, pid)
			}
		case pid := <-s.announced.loads:
			s.follower.followLoad(ctx, pid)
		case seen := <-s.announced.intraProcesses:
			s.follower.followIntraProcess(ctx, seen)
		case result := <-s.scans.results:
			s.scans.apply(result)
			s.scans.next(ctx) // there is room for another one
		case <-s.scans.searched:
			s.scans.next(ctx)
		case <-s.headers.asked:
			s.headers.answer(ctx)
		case <-losses.C:
			s.journal.warn(s.countLosses())
			s.triggers.tick(s.clock.now())
		case request := <-s.requests:
			request.done <- request.do(ctx)
		case err := <-s.failed:
			return trace.EndingError, err, false
		case <-clock.C:
			s.journal.warn(s.writer.Write(&trace.Batch{Clocks: []trace.Clock{s.clocks.measure()}}))
		case <-tick.C:
			s.attacher.Verify()
			s.follower.lookAtAll(ctx)
			s.blind.judgeAll()
			s.awaitFirst(ctx)
			if s.linkChanges != nil {
				s.linkChanges.look(ctx, time.Now())
			}
			s.attacher.Sweep()
			s.follower.forgetLongEnded(time.Now())
			s.merger.ForgetUnwanted()
			s.follower.forgetStale()
			s.known.note(ctx)
			s.scans.lineUp()
			s.scans.next(ctx)
			s.merger.EmitEntities(false)
			if err := s.writer.Tick(time.Now()); err != nil {
				return trace.EndingError, err, false
			}
			s.tellRemoved(time.Now())
			if ending := s.limitReached(); ending != "" {
				return ending, nil, false
			}
			if s.overhead.isDue(s.loader.Statistics().Records, readClock(unix.CLOCK_MONOTONIC)) && s.attacher.KeepBudget(s.takeAccounts()) {
				s.takeAccounts() // what the rest costs is seen from now on
			}
			s.tellStatus(s.driver.state())
		}
		if s.targetsEnded() {
			return trace.EndingTargetsExited, nil, false
		}
	}
}

// handle merges a batch of records and hands the rows on.
func (s *Session) handle(records [][]byte) error {
	doubt, err := s.lostInits.look(s.loader.LostInits)
	if err != nil {
		return err
	}
	doubt(s.merger)
	defer doubt(s.merger) // of what has begun meanwhile
	for _, record := range records {
		if err := s.merger.Record(record); err != nil {
			return err
		}
	}
	return s.merger.Take(s.rows.Write)
}

// targetsEnded reports whether everything that was to be recorded has ended. A name or "all" may always match something
// new, which only StopWhenGone does not wait for.
func (s *Session) targetsEnded() bool {
	waits := s.configuration.All || s.configuration.name != nil
	if waits && !s.configuration.StopWhenGone {
		return false
	}
	if s.launched != nil && !s.launched.Exited() {
		return false
	}
	if !s.looks.empty() {
		return false // a child may be waiting to be met
	}
	if waits {
		return s.processes.areGone()
	}
	living, ros2 := s.processes.run()
	if s.launched == nil || ros2 || !living {
		return !living
	}
	// A child that the command waits for may still start a node; a daemon that it has left behind need not be waited for.
	return !s.launched.Runs()
}

// awaitFirst has the first events of programs recorded of which nothing is known, where these are wanted.
func (s *Session) awaitFirst(ctx context.Context) {
	if s.configuration.systemWide() {
		s.first.look(ctx)
	}
}
