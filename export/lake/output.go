package lake

import (
	"context"

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

// outputTo returns what takes the rows of a table. It must be called before any rows are read.
func outputTo[T any](o *outputs, table string) func(rows []T) error {
	w := newTableWriter[T](table, o.partition, o.staging.create)
	batches := make(chan []T, heldBatches)
	o.closing = append(o.closing, func() { close(batches) })
	o.writers.Go(func() error {
		for rows := range batches {
			if err := w.write(rows); err != nil {
				w.abandon()
				return err
			}
		}
		files, err := w.close()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.files = append(o.files, files...)
		return err
	})
	return func(rows []T) error {
		if len(rows) == 0 {
			return nil
		}
		select {
		case batches <- rows:
			return nil
		case <-o.ctx.Done():
			return o.ctx.Err()
		}
	}
}
