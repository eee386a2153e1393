package elffile

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do with the numbers below count, several at a time, and returns when all calls have: for work on many
// files. Twice as many as there are processors run, since some wait for the disk.
func Each(count int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(count, 2*runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}
