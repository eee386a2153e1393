package loader

import (
	"context"
	"sync"
)

// drains are those who wait until the ring buffer was read empty. The zero value is ready.
type drains struct {
	mu      sync.Mutex
	waiting []chan error
	over    error // the reader has ended by it
	ending  bool  // the reader is to end when the ring buffer is empty
}

// add registers somebody who waits. It is called before the reader is woken.
func (d *drains) add() chan error {
	d.mu.Lock()
	defer d.mu.Unlock()
	drained := make(chan error, 1)
	if d.over != nil {
		drained <- d.over
	} else {
		d.waiting = append(d.waiting, drained)
	}
	return drained
}

// end has the reader end when the ring buffer is empty.
func (d *drains) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ending = true
}

// begun is how many wait, and whether the reader is to end. For these, and for no later ones, everything is read by a
// reading that begins now and goes on until nothing is left.
func (d *drains) begun() (waiting int, ending bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting), d.ending
}

// release tells so many who wait that everything was read and handled.
func (d *drains) release(count int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, drained := range d.waiting[:count] {
		drained <- nil
	}
	d.waiting = d.waiting[count:]
}

// wanted reports, when the ring buffer was read empty, whether it is to be read so once more: some may have woken the
// reader before they could be counted.
func (d *drains) wanted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ending || len(d.waiting) > 0
}

// begin notes that a reader begins.
func (d *drains) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = nil
}

// finish tells all who wait, or will, that the reader has ended.
func (d *drains) finish(err error) {
	if err == nil {
		err = ErrClosed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, drained := range d.waiting {
		drained <- err
	}
	d.waiting, d.over, d.ending = nil, err, false
}

// Drain returns when everything that was recorded before the call has been handled, or with ctx's error. It fails with
// ErrClosed, or what ended it, if Read has ended.
func (l *Loader) Drain(ctx context.Context) error {
	drained := l.drains.add()
	if err := l.flushReader(); err != nil {
		return err
	}
	select {
	case err := <-drained:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
