package trace

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/caret-bpf/caret-bpf/columnar"
)

const (
	// leastReading and readingPerCore are what all who read row groups share. A row group as recorders write them takes
	// less than readingPerCore, with all its columns.
	leastReading   = 1 << 30
	readingPerCore = 128 << 20
)

// reading is shared by all datasets.
var reading = newMemoryBudget(max(leastReading, int64(runtime.GOMAXPROCS(0))*readingPerCore))

// memoryBudget is memory that several share: who asks for more than is free waits, behind those who asked before.
type memoryBudget struct {
	size    int64
	mu      sync.Mutex
	free    int64
	waiting []*memoryWaiter
}

type memoryWaiter struct {
	bytes int64
	ready chan struct{} // closed when it has the memory
}

func newMemoryBudget(size int64) *memoryBudget { return &memoryBudget{size: size, free: size} }

// forColumns takes what reading columns of a row group takes, −1 standing for one that the file does not have. They are
// asked for together: those who have some and wait for others would wait for each other.
func (b *memoryBudget) forColumns(ctx context.Context, f *columnar.File, group int, indexes []int) (giveBack func(), err error) {
	var loaded, bytes int64
	for _, i := range indexes {
		if i >= 0 {
			loaded += f.Groups[group].Chunks[i].Length
			bytes += f.ReadingMemory(group, i)
		}
	}
	if loaded > columnar.LoadLimit {
		return nil, fmt.Errorf("%w: columns of row group %d have %d bytes", ErrCorruptSegment, group, loaded)
	}
	return b.take(ctx, bytes)
}

// take waits for some bytes, or for all if more is asked for. It fails only where the context ends.
func (b *memoryBudget) take(ctx context.Context, bytes int64) (giveBack func(), err error) {
	bytes = min(bytes, b.size)
	giveBack = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.free += bytes
		b.admit()
	}
	w := &memoryWaiter{bytes: bytes, ready: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	b.admit()
	b.mu.Unlock()
	select {
	case <-w.ready:
		return giveBack, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	i := slices.Index(b.waiting, w)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.admit()
	}
	b.mu.Unlock()
	if i < 0 {
		giveBack()
	}
	return nil, ctx.Err()
}

// admit gives those who wait the longest what is free.
func (b *memoryBudget) admit() {
	for len(b.waiting) > 0 && b.waiting[0].bytes <= b.free {
		b.free -= b.waiting[0].bytes
		close(b.waiting[0].ready)
		b.waiting = b.waiting[1:]
	}
}
