package scan

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// MaxWorkers is the number of goroutines that InParallel uses at most.
func MaxWorkers() int { return runtime.GOMAXPROCS(0) }

// InParallel runs n tasks on as many goroutines as there are cores, and returns the first error. Each goroutine has a
// number, for what it reuses from task to task.
func InParallel(ctx context.Context, n int, task func(ctx context.Context, worker, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var once sync.Once
	var first error
	var workers sync.WaitGroup
	for worker := range min(MaxWorkers(), n) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				if err := task(ctx, worker, i); err != nil {
					once.Do(func() { first = err })
					cancel()
				}
			}
		})
	}
	workers.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}
