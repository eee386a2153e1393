package writer

import "sync"

// backlogBytes bounds the finished segments that wait for the disk together: a crash loses them. One that is larger
// waits alone.
const backlogBytes = 16 << 20

// backlog counts the bytes of finished segments that are not on the disk yet.
type backlog struct {
	mu        sync.Mutex
	committed sync.Cond
	bytes     int64
}

func newBacklog() *backlog {
	b := new(backlog)
	b.committed.L = &b.mu
	return b
}

// add waits until a segment may wait for the disk.
func (b *backlog) add(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.bytes > 0 && b.bytes+bytes > backlogBytes {
		b.committed.Wait()
	}
	b.bytes += bytes
}

// remove is called when a segment is on the disk, or will never be.
func (b *backlog) remove(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= bytes
	b.committed.Signal()
}
