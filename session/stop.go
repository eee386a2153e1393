package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/merge"
	"github.com/caret-bpf/caret-bpf/trace"
)

// stop brings home what is on its way, in the only order in which nothing is lost: gate, probes, threads, ring buffer,
// rows. cause is the error that ends the recording, if one does; read says that the reader has ended already.
func (s *Session) stop(ending trace.Ending, cause error, reading <-chan error, read bool) error {
	s.journal.warn(s.countLosses()) // for the last snapshots, which nobody can ask this goroutine to count for
	s.triggers.end()
	_, closed, err := s.loader.CloseGate()
	until := closed + s.clock.RealtimeOffset
	s.recordedUntil.Store(until)
	s.driver.close()
	s.tellStatus(trace.StateFlushing)
	s.blind.lookLast()
	errs := []error{cause, s.launched.Failure(), err, s.journal.enter(trace.StateFlushing, s.writer), s.loader.Detach()}
	threads, err := s.loader.Threads()
	errs = append(errs, err)
	if !read {
		errs = append(errs, s.drain(reading))
	}
	s.known.noteLast()
	s.scans.finish()
	for _, thread := range threads {
		errs = append(errs, s.merger.CloseThread(thread.State))
	}
	s.merger.EmitEntities(true)
	errs = append(errs, s.merger.Take(s.rows.Write), s.countLosses())
	s.triggers.tick(until) // counts what waited for the last rows
	errs = append(errs, s.writer.Write(&trace.Batch{Clocks: []trace.Clock{s.clocks.measure()}}))
	s.endMappings()
	s.blind.tellAll(closed)
	s.noteUnresolved()
	s.closeMemories()
	s.warnOfNothing()
	s.attacher.WarnOfApart()
	s.warnOfRefusals()
	s.processes.endAll(until)
	s.noteOverhead(closed)
	s.journal.warnOfUnlisted()
	s.known.end()
	return s.finish(ending, joinDistinct(errs...))
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
	s.journal.with(func(report *trace.Session) { report.Unresolved = unresolved })
}

// warnOfNothing tells the user when the command that was to be recorded ran no ROS 2 program.
func (s *Session) warnOfNothing() {
	if s.launched == nil {
		return
	}
	recorded := false
	s.journal.with(func(report *trace.Session) { recorded = len(report.Targets) > 0 })
	if !recorded {
		s.journal.warn(errors.New("the command ran no ROS 2 program (nothing mapped librcl.so or libtracetools.so): nothing was recorded"))
	}
}

// ErrNotBegun is returned when a session is interrupted before its recording began.
var ErrNotBegun = errors.New("interrupted before the recording began: nothing was recorded")

// abandon ends a session whose recording never began. Its dataset goes with it, so that the next attempt finds the
// place free.
func (s *Session) abandon(err error, reading <-chan error) error {
	err = joinDistinct(err, s.loader.Detach(), s.drain(reading))
	s.closeMemories()
	s.tellStatus(trace.StateStopped)
	return joinDistinct(err, s.writer.Discard())
}

// flushTime is how long the disk may take for what is left at the end.
const flushTime = time.Minute

// finish closes the dataset and says in session.json how the recording ended.
func (s *Session) finish(ending trace.Ending, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	flushError := s.writer.Flush(ctx)
	if flushError == nil {
		s.journal.warn(s.writer.Compact(ctx))
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
	s.noteRemoved()
	triggers := s.triggers.counts()
	s.journal.with(func(report *trace.Session) {
		report.Ending, report.Triggers = ending, triggers
		if err != nil {
			report.Error = err.Error()
		}
		report.Unstored = unstored(s.writer.AcceptedRows(), s.writer.StoredRows())
	})
	return errors.Join(s.journal.enter(trace.StateStopped, s.writer), s.writer.Close())
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

// closeMemories ends the reading of the memory of all processes.
func (s *Session) closeMemories() {
	for _, entry := range s.processes.all() {
		s.journal.warn(s.merger.Update(entry.row.ProcessKey, (*merge.Process).CloseMemory))
	}
}
