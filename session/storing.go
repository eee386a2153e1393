package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

const (
	// defaultRingBytes bounds what is kept in memory where only a time was asked for.
	defaultRingBytes = 512 << 20
	// ringSegments is into how many segments what is kept in memory is divided at least: that much more is kept than was
	// asked for.
	ringSegments = 10
	// minRingPeriod and maxRingPeriod bound how long one takes.
	minRingPeriod, maxRingPeriod = time.Second, 5 * time.Second
	// minRingSegment and maxRingSegment bound the size of one, in bytes.
	minRingSegment, maxRingSegment = 256 << 10, 32 << 20
	// ringRoom is what is in memory beside the segments that are kept: rows of entities, and segments that are not closed.
	ringRoom = 64 << 20
)

// segmentBytes is the size of segments of which so many bytes are kept together.
func segmentBytes(kept int64) int64 {
	return min(max(kept/(2*ringSegments), minRingSegment), maxRingSegment)
}

// nowOfRows is the present on the dataset's clock, which stands still when nothing more is recorded: what was to be
// kept does not get old while a recording ends, which may take seconds.
func (s *Session) nowOfRows() int64 {
	if end := s.recordedUntil.Load(); end != 0 {
		return end
	}
	return s.clock.now()
}

// ErrFreeSpace is returned where less is left of the disk than MinFreeBytes: a recording is not begun, or has ended for
// it and is whole.
var ErrFreeSpace = errors.New("less is left on the disk than --min-free asks for")

// createOnDisk makes the dataset where enough is left of the disk.
func (s *Session) createOnDisk(options writer.Options) (*writer.Writer, error) {
	w, err := writer.Create(s.configuration.Output, options)
	if err != nil || !s.configuration.endsAtFreeSpace() {
		return w, err
	}
	free, err := w.FreeBytes()
	if err == nil && free < s.configuration.MinFreeBytes {
		err = fmt.Errorf("%w, %s: nothing was recorded; free space, or choose another directory with -o", ErrFreeSpace, mebibytes(free))
	}
	if err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w, nil
}

// createDataset makes the dataset on disk or in memory. First it makes room.
func (s *Session) createDataset() (*writer.Writer, error) {
	c := s.configuration
	var err error
	if s.former, err = newFormerRecordings(c, s.options, s.journal); err != nil {
		return nil, err
	}
	s.former.keep(context.Background(), 0)
	options := writer.Options{SegmentPeriod: c.SegmentPeriod, As: s.options.Caller, Mode: c.mode, Now: s.nowOfRows}
	if !c.isRing() {
		if c.Upload == "" { // else rows would be removed before they have arrived
			options.Retention = writer.Retention{
				Age: cmp.Or(c.KeepAge, c.KeepTotalAge), Bytes: cmp.Or(c.KeepBytes, s.former.room()), Periods: c.KeepSegments,
			}
		}
		if options.Retention.Bytes > 0 {
			options.SegmentBytes = segmentBytes(options.Retention.Bytes)
		}
		return s.createOnDisk(options)
	}
	if !s.options.NoSnapshots {
		// Before there is anything to write: where it cannot be written later is no place for snapshots.
		if err := writer.MakeFolder(c.Output, options); err != nil {
			return nil, fmt.Errorf("make the directory of snapshots: %w: choose another one with -o", err)
		}
	}
	bytes := c.RingBytes
	if bytes == 0 {
		bytes = defaultRingBytes
	}
	if options.SegmentPeriod == 0 {
		options.SegmentPeriod = maxRingPeriod
		if c.RingAge > 0 {
			options.SegmentPeriod = min(max(c.RingAge/ringSegments, minRingPeriod), maxRingPeriod)
		}
	}
	options.SegmentBytes = segmentBytes(bytes)
	options.Retention = writer.Retention{Age: c.RingAge, Bytes: bytes}
	options.Memory = 2*bytes + ringRoom
	return writer.Create("", options)
}

// noteRemoved notes what was removed, for session.json. It reports whether anything was.
func (s *Session) noteRemoved() bool {
	removed := s.writer.Removed()
	s.journal.warn(removed.Problem)
	if removed.Until == 0 {
		return false
	}
	s.journal.with(func(report *trace.Session) { report.Removed = &trace.Removed{Rows: removed.Rows, Until: removed.Until} })
	return true
}

// removedInterval is how often session.json says anew, while recording, what was removed.
const removedInterval = time.Minute

// tellRemoved has session.json say what was removed: the recorder may be killed.
func (s *Session) tellRemoved(now time.Time) {
	if now.Sub(s.removedTold) >= removedInterval && s.noteRemoved() {
		s.removedTold = now
		s.journal.warn(s.journal.rewrite(s.writer))
	}
}
