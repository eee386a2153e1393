package analyze

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
)

// windowsAhead is the number of windows that are read beyond the one that is waited for or worked on: more take memory
// and save no time.
const windowsAhead = 1

// readTask reads a part of a window, for a goroutine with that number.
type readTask func(ctx context.Context, worker int) error

// windowReading is a window that is being read.
type windowReading[W any] struct {
	finish func() W
	left   atomic.Int64 // parts that have not been read
	done   chan struct{}
}

func newWindowReading[W any](parts int, finish func() W) *windowReading[W] {
	w := &windowReading[W]{finish: finish, done: make(chan struct{})}
	w.left.Store(int64(parts))
	if parts == 0 {
		close(w.done)
	}
	return w
}

func (w *windowReading[W]) partRead() {
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
}

// readAhead reads window after window on all cores, and passes them on in their order while later ones are read.
// reading returns what has to be read for the window before a limit; when it all was, finish returns the window.
func readAhead[W any](ctx context.Context, limits []int64, reading func(limit int64) (tasks []readTask, finish func() W), each func(W) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(nil)
	windows, parts := make(chan *windowReading[W], windowsAhead), make(chan func(worker int))
	running.Go(func() {
		defer close(windows)
		defer close(parts)
		for _, limit := range limits {
			tasks, finish := reading(limit)
			w := newWindowReading(len(tasks), finish)
			select {
			case windows <- w:
			case <-ctx.Done():
				return
			}
			for _, task := range tasks {
				read := func(worker int) {
					defer w.partRead()
					if err := task(ctx, worker); err != nil {
						cancel(err)
					}
				}
				select {
				case parts <- read:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	for worker := range scan.MaxWorkers() {
		running.Go(func() {
			for read := range parts {
				read(worker)
			}
		})
	}
	for w := range windows {
		select {
		case <-w.done:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		if err := each(w.finish()); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
