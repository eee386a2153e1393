package writer

import (
	"io"
	"os"
)

// adoption is the encoder's task for Adopt.
type adoption struct {
	table   *table
	from    *os.File
	rows    int64
	adopted chan<- struct{}
}

func (a adoption) run(e *encoder) error {
	defer close(a.adopted)
	if e.failed {
		return nil
	}
	former, err := a.table.finish()
	if err != nil {
		return err
	}
	e.commit(former)
	a.table.accepted.Add(uint64(a.rows))
	copied, err := a.table.segments.adopt(a.from, int(a.rows))
	if err != nil {
		return err
	}
	e.commit(copied)
	return nil
}

// adopt copies a file that is to be the next segment.
func (s *segments) adopt(from *os.File, rows int) (*finished, error) {
	if err := s.openFolder(); err != nil {
		return nil, err
	}
	f, err := s.dir.createFile(s.temporary())
	if err != nil {
		return nil, err
	}
	bytes, err := io.Copy(f, from)
	if err != nil {
		s.dir.discard(f, s.temporary())
		return nil, ioError("write", s.dir.describe(s.temporary()), err)
	}
	return s.handOver(f, rows, bytes), nil
}
