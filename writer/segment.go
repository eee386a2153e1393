package writer

import (
	"fmt"
	"os"
	"path"
	"sync/atomic"

	"github.com/caret-bpf/caret-bpf/columnar"
	"github.com/caret-bpf/caret-bpf/trace"
)

// segments writes one table's segments, one after another. It belongs to the encoder goroutine.
type segments struct {
	table       *trace.Table
	dir         *directory
	limits      limits
	counters    *counters
	now         func() int64
	compressors *columnar.Compressors

	folder      *os.File
	first       int                  // the number of the oldest segment that may still be there
	sequence    int                  // that of the next one
	closedBytes int64                // of the segments before this one
	file        *output              // nil between segments
	parquet     *trace.SegmentWriter // nil before the first segment, and after one that failed
	rows        int                  // in the segment
	rowsInGroup int
}

// output is the file of a segment. It keeps the first error, which tells more than what the Parquet library makes of
// it.
type output struct {
	*os.File
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// counters say how much there is of a table.
type counters struct {
	taken            atomic.Uint64 // rows that ever came
	accepted, stored atomic.Uint64 // rows
	written          atomic.Int64  // bytes of all segments that there ever were, as far as they are encoded
	removed          atomic.Int64  // bytes of segments that retention has removed
}

// finished is a segment whose footer is written.
type finished struct {
	table            *trace.Table
	file             *os.File
	temporary, final string
	folder           *os.File
	rows             int
	bytes            int64
	closedAt         int64 // on the dataset's clock: all of its rows were written before
	counters         *counters
}

// write adds rows to the segment and returns it when it has reached its size.
func (s *segments) write(rows trace.AnyRows) (*finished, error) {
	if s.file == nil {
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	if err := s.parquet.Add(rows); err != nil {
		return nil, s.fail(err)
	}
	s.rows += rows.Len()
	s.rowsInGroup += rows.Len()
	if s.rowsInGroup >= s.limits.rowGroupRows {
		if err := s.parquet.EndGroup(); err != nil {
			return nil, s.fail(err)
		}
		s.rowsInGroup = 0
	}
	s.counters.written.Store(s.closedBytes + s.parquet.Size())
	if s.parquet.Size() >= s.limits.segmentBytes {
		return s.finish()
	}
	return nil, nil
}

// finish writes the footer and hands the segment over. It returns nil when there is no row since the last segment.
func (s *segments) finish() (*finished, error) {
	if s.file == nil {
		return nil, nil
	}
	if err := s.parquet.End(); err != nil {
		return nil, s.fail(err)
	}
	f := s.handOver(s.file.File, s.rows, s.parquet.Size())
	s.file, s.rows, s.rowsInGroup = nil, 0, 0
	return f, nil
}

// handOver makes a file, which has its footer, the next segment.
func (s *segments) handOver(file *os.File, rows int, bytes int64) *finished {
	f := &finished{
		table: s.table, file: file, temporary: s.temporary(), final: path.Join(s.table.Name, s.name()),
		folder: s.folder, rows: rows, bytes: bytes, closedAt: s.now(), counters: s.counters,
	}
	s.closedBytes += bytes
	s.counters.written.Store(s.closedBytes)
	s.sequence++
	return f
}

// abandon removes the unfinished segment, if there is one.
func (s *segments) abandon() {
	if s.file != nil {
		s.dir.discard(s.file.File, s.temporary())
		s.file, s.parquet = nil, nil
	}
}

func (s *segments) closeFolder() {
	if s.folder != nil {
		_ = s.folder.Close() // opened to sync it
	}
}

// openFolder makes the table's folder, once.
func (s *segments) openFolder() (err error) {
	if s.folder == nil {
		s.folder, err = s.dir.openTable(s.table.Name)
	}
	return err
}

func (s *segments) open() error {
	if err := s.openFolder(); err != nil {
		return err
	}
	f, err := s.dir.createFile(s.temporary())
	if err != nil {
		return err
	}
	s.file = &output{File: f}
	if s.parquet == nil {
		s.parquet = trace.NewSegmentWriter(s.table, s.compressors)
	}
	if err := s.parquet.Begin(s.file); err != nil {
		return s.fail(err)
	}
	return nil
}

// fail gives the segment up, of which an unknown part was written.
func (s *segments) fail(err error) error {
	if s.file.err != nil {
		err = s.file.err
	}
	s.abandon()
	return ioError("write", s.dir.describe(s.temporary()), err)
}

func (s *segments) name() string { return segmentName(s.sequence) }

func segmentName(sequence int) string { return fmt.Sprintf("%08d.parquet", sequence) }

func (s *segments) temporary() string {
	return path.Join(s.table.Name, "."+s.name()+".tmp")
}
