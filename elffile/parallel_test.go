package elffile

import (
	"sync/atomic"
	"testing"
)

func TestEachNumberOnce(t *testing.T) {
	for _, count := range []int{0, 1, 1000} {
		calls := make([]atomic.Int32, count)
		Each(count, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("of %d, %d was done %d times", count, i, n)
			}
		}
	}
}
