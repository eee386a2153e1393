package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/trace"
)

// stop brings home what is on its way, in the only order in which nothing is lost: gate, probes, threads, ring buffer,
// rows. cause is the error that ends the recording, if one does; read says that the reader has ended already.
func (s *Session) stop(ending trace.Ending, cause error, reading <-chan error, read bool) error {
	_, closed, err := s.loader.CloseGate()
	s.tellStatus(trace.StateFlushing)
	s.lookLast()
	errs := []error{cause, s.launched.failure(), err, s.enter(trace.StateFlushing), s.loader.Detach()}
	threads, err := s.loader.OpenThreads()
	errs = append(errs, err)
	if !read {
		errs = append(errs, s.drain(reading))
	}
	s.noteLastKnownFiles()
	s.finishScans()
	for _, thread := range threads {
		errs = append(errs, s.merger.CloseThread(thread.State))
	}
	s.merger.TellEntities(true)
	errs = append(errs, s.merger.Take(s.writer.Write), s.countLosses())
	errs = append(errs, s.writer.Write(&trace.Batch{Clocks: []trace.Clock{measureClock()}}))
	s.endMappings()
	s.tellAllUnarmed(closed)
	s.noteUnresolved()
	s.closeMemories()
	s.warnOfNothing()
	s.attacher.WarnOfApart()
	s.warnOfRefusals()
	s.endProcesses(closed + s.clock.RealtimeOffset)
	s.noteOverhead(closed)
	s.warnOfUnlisted()
	s.endKnownFiles()
	return s.finish(ending, distinct(errs...))
}

// drain waits until the reader has read all there is, and ends it.
func (s *Session) drain(reading <-chan error) error {
	err := s.loader.Flush()
	if err != nil {
		err = errors.Join(err, s.loader.Close()) // which ends the reader
	}
	return errors.Join(err, <-reading)
}

// maxUnresolved bounds what session.json says of addresses without names.
const maxUnresolved = 100

// noteUnresolved puts into session.json which addresses stay without names, and why.
func (s *Session) noteUnresolved() {
	unresolved := s.merger.Unresolved()
	if more := len(unresolved) - maxUnresolved; more > 0 {
		unresolved = append(unresolved[:maxUnresolved], fmt.Sprintf("and %d more", more))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Unresolved = unresolved
}

// warnOfNothing tells the user when the command that was to be recorded ran no ROS 2 program.
func (s *Session) warnOfNothing() {
	if s.launched == nil {
		return
	}
	s.mu.Lock()
	recorded := len(s.report.Targets) > 0
	s.mu.Unlock()
	if !recorded {
		s.warn(errors.New("the command ran no ROS 2 program (nothing mapped librcl.so or libtracetools.so): nothing was recorded"))
	}
}

// ErrNotBegun is returned when a session is interrupted before its recording began.
var ErrNotBegun = errors.New("interrupted before the recording began: nothing was recorded")

// abandon ends a session whose recording never began. Its dataset goes with it, so that the next attempt finds the
// place free.
func (s *Session) abandon(err error, reading <-chan error) error {
	err = distinct(err, s.loader.Detach(), s.drain(reading))
	s.closeMemories()
	s.tellStatus(trace.StateStopped)
	return distinct(err, s.writer.Discard())
}

// flushTime is how long the disk may take for what is left at the end.
const flushTime = time.Minute

// finish closes the dataset and says in session.json how the recording ended.
func (s *Session) finish(ending trace.Ending, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	flushError := s.writer.Flush(ctx)
	if flushError == nil {
		s.warn(s.writer.Compact(ctx))
	}
	err = cmp.Or(err, flushError)
	if err != nil {
		ending = trace.EndingError
	}
	closeError := s.closeWriter(ending, err)
	s.tellStatus(trace.StateStopped)
	return cmp.Or(err, closeError)
}

func (s *Session) closeWriter(ending trace.Ending, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Ending = ending
	if err != nil {
		s.report.Error = err.Error()
	}
	s.report.Unstored = unstored(s.writer.AcceptedRows(), s.writer.StoredRows())
	return errors.Join(s.writeReport(trace.StateStopped), s.writer.Close())
}

// unstored returns the rows that were accepted and not stored, by table; nil if there are none.
func unstored(accepted, stored map[string]uint64) map[string]uint64 {
	var missing map[string]uint64
	for table, count := range accepted {
		if count <= stored[table] {
			continue
		}
		if missing == nil {
			missing = map[string]uint64{}
		}
		missing[table] = count - stored[table]
	}
	return missing
}

// countLosses adds to the loss table what was lost since the last time.
func (s *Session) countLosses() error {
	losses, err := s.loader.Losses()
	if err != nil {
		return err
	}
	now := s.now()
	from, rows := s.newLosses(losses, now)
	for _, row := range rows {
		if row.Kind == trace.LostInit && row.Reason != trace.LossRingFull { // of those the reader knows
			s.merger.Doubt(from-s.clock.RealtimeOffset, now-s.clock.RealtimeOffset)
		}
	}
	return s.writer.Write(&trace.Batch{Losses: rows})
}

// newLosses returns what the loss table has not got yet, and since when it was lost.
func (s *Session) newLosses(losses []loader.Loss, now int64) (from int64, rows []trace.Loss) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = s.lostSince
	for _, loss := range losses {
		key := loader.Loss{Kind: loss.Kind, Reason: loss.Reason}
		fresh := loss.Count - s.lost[key]
		if fresh == 0 {
			continue
		}
		s.lost[key] = loss.Count
		rows = append(rows, trace.Loss{
			Kind: trace.LossKind(loss.Kind.String()), Reason: trace.LossReason(loss.Reason.String()), Count: fresh,
			FromTimestamp: s.lostSince, ToTimestamp: now,
		})
	}
	s.lostSince = now
	if len(rows) == 0 {
		return from, nil
	}
	s.report.Losses = s.report.Losses[:0]
	for key, count := range s.lost {
		s.report.Losses = append(s.report.Losses, trace.LossTotal{
			Kind: trace.LossKind(key.Kind.String()), Reason: trace.LossReason(key.Reason.String()), Count: count,
		})
	}
	return from, rows
}
