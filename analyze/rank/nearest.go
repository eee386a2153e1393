package rank

import "math"

// Nearest is the rank of a percentile among so many values, from 1 on: that of the least value which at least that
// share of them does not exceed.
func Nearest(share float64, count uint64) uint64 {
	return max(uint64(math.Ceil(share*float64(count))), 1)
}
