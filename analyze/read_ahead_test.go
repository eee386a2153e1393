package analyze

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/scan"
)

// Windows come in their order, each after all of its parts, whatever the order in which parts are read.
func TestReadAhead(t *testing.T) {
	limits := make([]int64, 200)
	for i := range limits {
		limits[i] = int64(i)
	}
	failure := errors.New("failed")
	for name, test := range map[string]struct {
		partFails, windowFails, cancelledAt int64
		want                                error
	}{
		"all":                     {-1, -1, -1, nil},
		"a part fails":            {50, -1, -1, failure},
		"the first part fails":    {0, -1, -1, failure},
		"the work fails":          {-1, 50, -1, failure},
		"cancelled while it runs": {-1, -1, 50, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			read := make([]atomic.Int64, len(limits))
			next := int64(0)
			err := readAhead(ctx, limits, func(limit int64) (tasks []readTask, finish func() int64) {
				for range limit % 5 { // some windows have no part
					tasks = append(tasks, func(ctx context.Context, worker int) error {
						if worker < 0 || worker >= scan.MaxWorkers() {
							t.Errorf("a part is read by worker %d", worker)
						}
						if test.partFails >= 0 && limit >= test.partFails {
							return failure
						}
						if limit%3 == 0 {
							runtime.Gosched()
						}
						read[limit].Add(1)
						return ctx.Err()
					})
				}
				return tasks, func() int64 { return limit }
			}, func(window int64) error {
				if window != next || read[window].Load() != window%5 {
					t.Errorf("window %d comes in place of %d, with %d parts", window, next, read[window].Load())
				}
				next++
				switch window {
				case test.windowFails:
					return failure
				case test.cancelledAt:
					cancel()
				}
				return nil
			})
			if !errors.Is(err, test.want) || test.want == nil && next != int64(len(limits)) {
				t.Errorf("after %d windows: error %v, want %v", next, err, test.want)
			}
		})
	}
}
