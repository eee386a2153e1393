package view

import (
	"math/rand/v2"
	"testing"
)

// TestLongestIn compares with a look at all bins for each execution.
func TestLongestIn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, executions := range []int{0, 1, 10, 3000} {
		var l longestIn
		var want [binsOfTile]*[3]int64
		begin := int64(0)
		for i := range executions {
			begin += random.Int64N(3)
			end := begin + random.Int64N(50)
			first := random.IntN(binsOfTile)
			last := min(binsOfTile-1, first+random.IntN(1+random.IntN(binsOfTile)))
			l.add(int32(i), begin, end, first, last)
			for bin := first; bin <= last; bin++ {
				if w := want[bin]; w == nil || end-begin > w[2]-w[1] {
					want[bin] = &[3]int64{int64(i), begin, end}
				}
			}
		}
		for bin, got := range l.of() {
			w := want[bin]
			if (got == nil) != (w == nil) || got != nil && (got[1] != w[1] || got[2] != w[2]) {
				t.Fatalf("%d executions: the longest of bin %d is %v, want %v", executions, bin, got, w)
			}
		}
	}
}
