package writer

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/caret-bpf/caret-bpf/trace"
)

// Cut is a place in a dataset: each row is in a segment before or behind it.
type Cut struct {
	// At is an instant on the dataset's clock: all rows before the cut were written before it.
	At   int64
	ends []end
}

// end is where a table was cut.
type end struct {
	table *table
	next  int    // the number of the first segment behind it
	rows  uint64 // in those before it
	bytes int64  // of these
}

// Cut closes the segments of all tables, as Flush does, and says which they were.
func (w *Writer) Cut(ctx context.Context) (*Cut, error) {
	if err := w.usable(); err != nil {
		return nil, err
	}
	cut := new(Cut)
	return cut, w.await(ctx, cut)
}

// noteSegments is called when all segments are closed; encoder goroutine only.
func (c *Cut) noteSegments(tables *tables) {
	c.At = tables.now()
	for _, t := range tables.all() {
		c.ends = append(c.ends, end{table: t, next: t.segments.sequence, bytes: t.segments.closedBytes})
	}
}

// noteRows is called when all segments before the cut are committed, and none behind it.
func (c *Cut) noteRows() {
	for i := range c.ends {
		e := &c.ends[i]
		e.rows = e.table.stored.Load()
		e.bytes -= e.table.removed.Load()
	}
}

// Has reports whether a segment of a table, by its path, is before the cut.
func (c *Cut) Has(table, segment string) bool {
	for _, e := range c.ends {
		if e.table.name() == table {
			return filepath.Base(segment) < segmentName(e.next)
		}
	}
	return false
}

// RemoveBefore removes what is before a cut, but for entities and attributes, while nothing else is removed (Hold). It
// returns the numbers of rows, by table. Of an error, the rest is removed all the same.
func (w *Writer) RemoveBefore(cut *Cut) (rows map[string]uint64, err error) {
	rows = map[string]uint64{}
	err = w.options.As.Run(func() error {
		var errs []error
		for _, e := range cut.ends {
			if staysWhole(e.table.segments.table) {
				continue
			}
			errs = append(errs, w.kept.removeBefore(e))
			rows[e.table.name()] = e.rows
		}
		return errors.Join(errs...)
	})
	w.kept.noteCut(cut.At)
	return rows, err
}

// removeBefore removes the segments of a table before a cut.
func (r *retained) removeBefore(e end) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []*finished
	for _, s := range r.segments {
		if s.counters == &e.table.counters && s.final < path.Join(e.table.name(), segmentName(e.next)) {
			r.bytes -= s.bytes
			continue
		}
		left = append(left, s)
	}
	r.segments = left
	var errs []error
	for _, name := range r.segmentsBefore(e) {
		if err := r.dir.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, ioError("remove", r.dir.describe(name), err))
		}
	}
	r.gone.Rows[e.table.name()] += e.rows
	e.table.accepted.Add(-e.rows)
	e.table.stored.Add(-e.rows)
	e.table.removed.Add(e.bytes)
	return errors.Join(errs...)
}

// segmentsBefore are the segments of a table before a cut that are still there.
func (r *retained) segmentsBefore(e end) (names []string) {
	entries, _ := fs.ReadDir(r.dir.root.FS(), e.table.name()) // what cannot be listed stays
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".parquet" && entry.Name()[0] != '.' && entry.Name() < segmentName(e.next) {
			names = append(names, path.Join(e.table.name(), entry.Name()))
		}
	}
	return names
}

// noteCut notes that everything is kept only from a cut on.
func (r *retained) noteCut(at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone.Until = max(r.gone.Until, at)
}

// staysWhole reports whether the rows of a table are never removed by time.
func staysWhole(table *trace.Table) bool {
	return table.HasEntities() || table.Name == trace.TableAttribute
}
