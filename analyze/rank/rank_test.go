package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestValue(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	few := func(n int, value func() int64) (values []int64) {
		for range n {
			values = append(values, value())
		}
		return values
	}
	for name, values := range map[string][]int64{
		"one":            {42},
		"equal":          few(100, func() int64 { return -7 }),
		"two":            {math.MinInt64, math.MaxInt64},
		"few":            few(10, func() int64 { return random.Int64N(5) }),
		"latencies":      few(50_000, func() int64 { return 30_000 + random.Int64N(100_000) }),
		"with outliers":  append(few(50_000, func() int64 { return random.Int64N(1000) }), math.MaxInt64-3, math.MaxInt64-1, -1<<40),
		"of all numbers": few(10_000, func() int64 { return int64(random.Uint64()) }),
	} {
		t.Run(name, func(t *testing.T) {
			chunks := slices.Collect(slices.Chunk(values, 1000))
			sorted := slices.Sorted(slices.Values(values))
			for _, share := range []float64{0, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
				index := min(int(share*float64(len(values))), len(values)-1)
				if got := Value(chunks, index, sorted[0], sorted[len(sorted)-1]); got != sorted[index] {
					t.Errorf("value %d of %d is %d, want %d", index, len(values), got, sorted[index])
				}
			}
		})
	}
}
