package session

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/trace"
)

// extent is how much there is of a dataset, and left of its disk.
type extent struct {
	rows        uint64
	bytes, free int64
}

// reached returns why a recording of that extent is to end, "" if it goes on, and the words for the user.
func (c *Configuration) reached(e extent) (ending trace.Ending, why string) {
	switch {
	case c.MaxRows > 0 && e.rows >= c.MaxRows:
		return trace.EndingRows, fmt.Sprintf("--max-rows: there are %d rows", e.rows)
	case c.MaxBytes > 0 && e.bytes >= c.MaxBytes:
		return trace.EndingSize, fmt.Sprintf("--max-size: the dataset has %s", mebibytes(e.bytes))
	case c.endsAtFreeSpace() && e.free < c.MinFreeBytes:
		return trace.EndingFreeSpace, fmt.Sprintf("--min-free: %s are left on the disk", mebibytes(e.free))
	}
	return "", ""
}

// endsAtFreeSpace says that the recording is to leave a part of the disk. One in memory takes none: its snapshots are
// to leave it.
func (c *Configuration) endsAtFreeSpace() bool { return c.MinFreeBytes > 0 && !c.isRing() }

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// extent measures what the bounds are about.
func (s *Session) extent() (e extent, err error) {
	for _, rows := range s.writer.AcceptedRows() {
		e.rows += rows
	}
	e.bytes = s.writer.WrittenBytes()
	if s.configuration.endsAtFreeSpace() {
		e.free, err = s.writer.FreeBytes()
	}
	return e, err
}

// limitReached returns why the recording is to end, "" if it goes on, and tells the user.
func (s *Session) limitReached() trace.Ending {
	now, err := s.extent()
	if err != nil {
		s.journal.warn(err)
		return ""
	}
	ending, why := s.configuration.reached(now)
	if ending != trace.EndingFreeSpace {
		s.former.hasRoom()
	} else if s.former.makeRoom() {
		return "" // they go first
	}
	if ending != "" {
		s.journal.message(fmt.Sprintf("stopping at %s", why))
	}
	return ending
}
