package lake

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// outputs are the tables that one pass through a recording fills, each written beside it.
type outputs struct {
	*facts
	ctx     context.Context
	writers *errgroup.Group
	closing []func()
}

// pass runs a pass, and adds what was written to the files.
func (f *facts) pass(ctx context.Context, read func(context.Context, *outputs) error) error {
	o := &outputs{facts: f}
	o.writers, o.ctx = errgroup.WithContext(ctx)
	o.writers.Go(func() error {
		err := read(o.ctx, o)
		for _, end := range o.closing {
			end()
		}
		return err
	})
	return o.writers.Wait()
}

// heldBatches is how many batches of rows wait to be written.
const heldBatches = 4

// output takes the rows of a table.
type output[T any] struct {
	*outputs
	batches chan []T
	// written are batches whose memory is used again.
	written chan []T
}

// outputTo returns what takes the rows of a table. It must be called before any rows are read.
func outputTo[T any](o *outputs, table string) *output[T] {
	w := newTableWriter[T](table, o.partition, o.staging.create)
	to := &output[T]{outputs: o, batches: make(chan []T, heldBatches), written: make(chan []T, heldBatches)}
	o.closing = append(o.closing, func() { close(to.batches) })
	o.writers.Go(func() error {
		for rows := range to.batches {
			if err := w.write(rows); err != nil {
				w.abandon()
				return err
			}
			to.reuse(rows)
		}
		files, err := w.close()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.files = append(o.files, files...)
		return err
	})
	return to
}

// room returns so many rows to be set, that hold anything.
func (to *output[T]) room(count int) []T {
	select {
	case rows := <-to.written:
		return slices.Grow(rows[:0], count)[:count]
	default:
		return make([]T, count)
	}
}

// write has rows written. They are not the caller's any more.
func (to *output[T]) write(rows []T) error {
	if len(rows) == 0 {
		to.reuse(rows)
		return nil
	}
	select {
	case to.batches <- rows:
		return nil
	case <-to.ctx.Done():
		return to.ctx.Err()
	}
}

// reuse takes rows whose memory nobody uses any more.
func (to *output[T]) reuse(rows []T) {
	select {
	case to.written <- rows:
	default:
	}
}
