package trace

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/semaphore"

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
	size int64
	free *semaphore.Weighted
}

func newMemoryBudget(size int64) *memoryBudget {
	return &memoryBudget{size, semaphore.NewWeighted(size)}
}

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
	if err := b.free.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { b.free.Release(bytes) }, nil
}
