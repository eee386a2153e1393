package session

import (
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

// createDataset makes the dataset on disk or in memory.
func (s *Session) createDataset() (*writer.Writer, error) {
	c := s.configuration
	options := writer.Options{SegmentPeriod: c.SegmentPeriod, As: s.options.Caller, Mode: c.mode, Now: s.nowOfRows}
	if !c.isRing() {
		options.Retention = writer.Retention{Age: c.KeepAge, Bytes: c.KeepBytes, Periods: c.KeepSegments}
		if c.KeepBytes > 0 {
			options.SegmentBytes = segmentBytes(c.KeepBytes)
		}
		return writer.Create(c.Output, options)
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
