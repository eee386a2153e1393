package writer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/trace"
)

// errRowsChanged means that a folder does not hold what was written into it.
var errRowsChanged = errors.New("its segments do not hold the rows that were written")

// Compact leaves in the tables of entities and processes the rows that count (trace.Telling). It is called once, when
// all rows were appended. Rows are read back from the disk; of each some bits are kept in memory, and the keys of
// processes. At every moment the segments on the disk hold the row of every entity: the new ones are made durable
// before the former are removed.
//
// After an error the tables have further rows, perhaps some twice: trace.Scan passes on the ones that count. The Writer
// stays usable.
func (w *Writer) Compact(ctx context.Context) error { return w.compact(ctx, nil) }

// CompactWithin is Compact that also removes entities and processes that have nothing to do with a time span.
func (w *Writer) CompactWithin(ctx context.Context, span trace.Span) error {
	return w.compact(ctx, &span)
}

func (w *Writer) compact(ctx context.Context, within *trace.Span) error {
	if err := w.usable(); err != nil {
		return err
	}
	for _, t := range w.tables.all() {
		t.submit()
	}
	compacted := make(chan error, 1)
	w.queue <- compaction{ctx, within, compacted}
	return <-compacted
}

// compaction is the encoder's task for Compact.
type compaction struct {
	ctx       context.Context
	within    *trace.Span // nil: all
	compacted chan<- error
}

func (c compaction) run(e *encoder) error {
	reached := make(chan struct{})
	err := rotation{reached: reached}.run(e)
	<-reached
	if err != nil || e.failed {
		c.compacted <- err
		return err
	}
	var errs []error
	for _, t := range e.tables.all() {
		var within *trace.Window
		if c.within != nil {
			within = trace.NewWindow(t.segments.table, *c.within)
		}
		if err := t.compact(c.ctx, within); err != nil {
			errs = append(errs, fmt.Errorf("table %s keeps earlier rows of its entities: %w", t.name(), err))
		}
	}
	c.compacted <- errors.Join(errs...)
	return nil
}

// compact leaves one row of each entity in the closed segments, and none of those that had ended before a window,
// unless that is nil; encoder goroutine only.
func (t *table) compact(ctx context.Context, within *trace.Window) error {
	if !t.segments.table.HasEntities() {
		return nil
	}
	removed, err := t.segments.compact(ctx, t.stored.Load(), within)
	t.accepted.Add(-removed)
	t.stored.Add(-removed)
	return err
}

// compact replaces the segments by such as have the rows that count only. stored is the number of rows that they hold.
// It returns how many of them are gone.
func (s *segments) compact(ctx context.Context, stored uint64, within *trace.Window) (removed uint64, err error) {
	first, former := s.first, s.sequence
	counting, kept, err := s.findCounting(ctx, former, stored)
	if err != nil || kept == stored && within == nil {
		return 0, err
	}
	bytes := s.closedBytes
	replacements, kept, err := s.rewrite(ctx, counting, within)
	if err != nil { // nothing has changed
		s.sequence, s.closedBytes = former, bytes
		s.counters.written.Store(bytes)
		return 0, err
	}
	if err := s.commitEach(replacements); err != nil {
		return 0, err
	}
	s.first = former
	s.counters.removed.Store(bytes) // of all segments that there were
	for sequence := first; sequence < former; sequence++ {
		if err := s.dir.root.Remove(s.pathOf(sequence)); err != nil {
			return stored - kept, ioError("remove", s.dir.describe(s.pathOf(sequence)), err)
		}
	}
	if err := s.folder.Sync(); err != nil {
		return stored - kept, ioError("sync the folder of", s.dir.describe(s.table.Name), err)
	}
	return stored - kept, nil
}

// findCounting tells for each of the former segments which of its rows count, and how many do. It goes backward: the
// last row of an entity is the one.
func (s *segments) findCounting(ctx context.Context, former int, stored uint64) (counting []rowBits, kept uint64, err error) {
	counting = make([]rowBits, former-s.first)
	met := entitySet{entities: make(sparseBits), processes: make(map[trace.ProcessKey]bool)}
	found := uint64(0)
	for sequence := former - 1; sequence >= s.first; sequence-- {
		var keys []trace.EntityKey // null where a row has no numbers
		err := s.read(sequence, func(f *os.File) error {
			return trace.ScanTellings(ctx, s.table, f, func(key trace.EntityKey, revision uint64) {
				if revision == 0 {
					key = trace.EntityKey{}
				}
				keys = append(keys, key)
			})
		})
		if err != nil {
			return nil, 0, err
		}
		if found += uint64(len(keys)); found > stored {
			break
		}
		of := make(rowBits, (len(keys)+63)/64)
		for row := len(keys) - 1; row >= 0; row-- {
			if keys[row] == (trace.EntityKey{}) || met.add(keys[row]) {
				of.set(row)
				kept++
			}
		}
		counting[sequence-s.first] = of
	}
	if found != stored {
		return nil, 0, errRowsChanged
	}
	return counting, kept, nil
}

// rewrite writes the rows that count, and have to do with a window unless that is nil, into new segments. It returns
// how many there are.
func (s *segments) rewrite(ctx context.Context, counting []rowBits, within *trace.Window) (replacements []*finished, kept uint64, err error) {
	defer func() {
		if err != nil {
			s.abandon()
			for _, f := range replacements {
				s.dir.discard(f.file, f.temporary)
			}
		}
	}()
	for i, of := range counting {
		row := 0
		err := s.read(s.first+i, func(f *os.File) error {
			return trace.ScanSegment(ctx, s.table, f, func(rows trace.AnyRows) error {
				first := row
				row += rows.Len()
				rows.Retain(func(i int) bool { return of.has(first+i) && (within == nil || within.Has(rows, i)) })
				kept += uint64(rows.Len())
				if rows.Len() == 0 {
					return nil
				}
				f, err := s.write(rows)
				if f != nil {
					replacements = append(replacements, f)
				}
				return err
			})
		})
		if err != nil {
			return replacements, 0, err
		}
	}
	f, err := s.finish()
	if f != nil {
		replacements = append(replacements, f)
	}
	return replacements, kept, err
}

// commitEach makes new segments durable.
func (s *segments) commitEach(replacements []*finished) error {
	for i, f := range replacements {
		if err := s.dir.commit(f.file, f.temporary, f.final, f.folder); err != nil {
			for _, f := range replacements[i+1:] {
				s.dir.discard(f.file, f.temporary)
			}
			return err
		}
	}
	return nil
}

// read opens a segment that was committed. The directory's owner may have put something else there.
func (s *segments) read(sequence int, use func(*os.File) error) error {
	name := s.pathOf(sequence)
	f, err := s.dir.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ioError("read", s.dir.describe(name), err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(errRowsChanged, err)
	}
	return use(f)
}

func (s *segments) pathOf(sequence int) string {
	return path.Join(s.table.Name, segmentName(sequence))
}

// rowBits are a bit for each row of a segment.
type rowBits []uint64

func (b rowBits) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b rowBits) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }

// sparseBits are a set of numbers, most of which follow each other.
type sparseBits map[uint64]uint64

// add tells whether the number was not in the set.
func (b sparseBits) add(i uint64) bool {
	word, bit := b[i/64], uint64(1)<<(i%64)
	b[i/64] = word | bit
	return word&bit == 0
}

// entitySet is a set of entities or of processes.
type entitySet struct {
	entities  sparseBits
	processes map[trace.ProcessKey]bool
}

// add tells whether the key was not in the set.
func (s *entitySet) add(key trace.EntityKey) bool {
	if key.Entity != 0 {
		return s.entities.add(key.Entity)
	}
	fresh := !s.processes[key.Process]
	s.processes[key.Process] = true
	return fresh
}
