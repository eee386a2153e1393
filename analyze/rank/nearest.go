package rank

import "math"

// Nearest is the rank of a percentile among so many values, from 1 on: that of the least value which at least that
// share of them does not exceed.
func Nearest(share float64, count uint64) uint64 {
	return max(uint64(math.Ceil(share*float64(count))), 1)
}

// rounding is the share by which a product of two numbers may exceed what it would be without binary fractions.
const rounding = 1e-14

// NearestPercent is the rank of a percentile in percent, above 0 and at most 100. It is exact for percents of few
// decimals, of which Nearest's product can come out just above a whole number: 55 % of 100.
func NearestPercent(percent float64, count uint64) uint64 {
	rank := percent * float64(count) / 100
	return min(max(uint64(math.Ceil(rank*(1-rounding))), 1), count)
}
