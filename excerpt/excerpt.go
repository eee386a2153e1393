// Package excerpt copies what a dataset has of a time span into a new dataset. The dataset may still be written.
package excerpt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/writer"
)

// Write makes a dataset at a path that has the rows of another one that have to do with a time span (trace.Window).
// Segments of which all rows have are copied as they are. session.json says what describe returns when all is copied,
// but for the losses and numbers of rows, which are those of the copy. It returns these numbers, by table. After an
// error there is no dataset at the path. So many bytes are left of the disk.
//
// Errors are those of writer.Create and of reading a dataset.
func Write(
	ctx context.Context, from *trace.Dataset, span trace.Span, path string, leave int64, options writer.Options, describe func() trace.Session,
) (rows map[string]uint64, err error) {
	return write(ctx, &source{dataset: from, span: span}, path, leave, options, describe)
}

// WriteBefore is Write for all that is before a cut.
func WriteBefore(
	ctx context.Context, from *trace.Dataset, cut *writer.Cut, path string, leave int64, options writer.Options, describe func() trace.Session,
) (rows map[string]uint64, err error) {
	return write(ctx, &source{from, trace.Span{Last: math.MaxInt64}, cut}, path, leave, options, describe)
}

// source is what is copied of a dataset.
type source struct {
	dataset *trace.Dataset
	span    trace.Span
	cut     *writer.Cut // nil: to the end
}

func write(
	ctx context.Context, from *source, path string, leave int64, options writer.Options, describe func() trace.Session,
) (rows map[string]uint64, err error) {
	w, err := writer.Create(path, options)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Discard())
		}
	}()
	losses := losses{}
	for _, table := range trace.Registry() {
		c := &copying{window: trace.NewWindow(table, from.span), table: table, from: from, to: w, losses: &losses, leave: leave}
		if err := c.run(ctx); err != nil {
			return nil, fmt.Errorf("copying table %s: %w", table.Name, err)
		}
	}
	if err := w.Flush(ctx); err != nil {
		return nil, err
	}
	if err := w.CompactWithin(ctx, from.span); err != nil {
		return nil, err
	}
	rows = w.StoredRows()
	session := describe()
	session.Rows, session.Unstored, session.Overhead, session.Removed = rows, nil, nil, nil
	session.Losses, session.Unarmed = losses.totals, losses.unarmed
	session.Ending, session.Error = trace.EndingSnapshot, ""
	session.Enter(trace.StateStopped, time.Now())
	if err := w.WriteSession(&session); err != nil {
		return nil, err
	}
	return rows, w.Close()
}

// copying copies one table.
type copying struct {
	window *trace.Window
	table  *trace.Table
	from   *source
	to     *writer.Writer
	losses *losses
	leave  int64
}

func (c *copying) run(ctx context.Context) error {
	segments, _, err := c.from.dataset.Segments(c.table.Name)
	if err != nil {
		return err
	}
	for _, segment := range segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.from.cut != nil && !c.from.cut.Has(c.table.Name, segment.Path) {
			continue
		}
		f, err := c.from.dataset.OpenSegment(segment)
		if errors.Is(err, fs.ErrNotExist) && !c.table.HasEntities() {
			continue // memory got full meanwhile
		}
		if err != nil {
			return err
		}
		err = c.checkRoom(segment.Bytes)
		if err == nil {
			err = c.segment(ctx, f)
		}
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRoom returns writer.ErrDiskFull if a segment would leave less than is to be left.
func (c *copying) checkRoom(bytes int64) error {
	free, err := c.to.FreeBytes()
	if err == nil && free < bytes+c.leave {
		err = fmt.Errorf("%w: of the %.1f MiB that are free, the copy has to leave %.1f MiB", writer.ErrDiskFull, mebibytes(free), mebibytes(c.leave))
	}
	return err
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (c *copying) segment(ctx context.Context, f *os.File) error {
	share, rows, err := c.window.Of(f)
	switch {
	case err != nil:
		return err
	case share == trace.ShareNone:
		return nil
	case share == trace.ShareAll && c.table.Name != trace.TableLoss: // whose rows are to be looked at
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return c.to.Adopt(c.table, f, rows)
	}
	return trace.ScanSegment(ctx, c.table, f, func(rows trace.AnyRows) error {
		if !c.table.HasEntities() { // of these it is not known yet which row counts
			rows.Retain(func(i int) bool { return c.window.Has(rows, i) })
		}
		c.losses.note(rows)
		return c.to.Append(c.table, rows)
	})
}

// losses are those that the copy has.
type losses struct {
	totals  []trace.LossTotal
	unarmed int
}

func (l *losses) note(rows trace.AnyRows) {
	lost, ok := rows.(*trace.Rows[trace.Loss])
	if !ok {
		return
	}
	for _, row := range *lost {
		if row.Reason == trace.LossUnarmed {
			l.unarmed++
			continue
		}
		l.add(trace.LossTotal{Kind: row.Kind, Reason: row.Reason, Count: row.Count})
	}
}

func (l *losses) add(loss trace.LossTotal) {
	for i := range l.totals {
		if l.totals[i].Kind == loss.Kind && l.totals[i].Reason == loss.Reason {
			l.totals[i].Count += loss.Count
			return
		}
	}
	l.totals = append(l.totals, loss)
}
