// Package rank keeps many values, and finds which of them has a rank, without sorting them.
package rank

import (
	"math/bits"
	"slices"
)

const (
	// rangeBits is the number of bits by which Value tells the values of a range apart at once.
	rangeBits = 12
	ranges    = 1 << rangeBits
	// few values are sorted.
	few = 256
)

// Value returns the value that would be at an index if all were sorted. There are more values than the index, and all
// are between least and greatest.
//
// It counts how many are in which of many equal parts of the range, and goes on with the part in which the index falls:
// sorting all takes several times as long.
func Value(chunks [][]int64, index int, least, greatest int64) int64 {
	count := 0
	for _, chunk := range chunks {
		count += len(chunk)
	}
	for count > few {
		span := uint64(greatest) - uint64(least) // also where the difference exceeds an int64
		drop := max(bits.Len64(span)-rangeBits, 0)
		var counts [ranges]int
		for _, chunk := range chunks {
			for _, value := range chunk {
				counts[(uint64(value)-uint64(least))>>drop]++
			}
		}
		part := 0
		for index >= counts[part] {
			index -= counts[part]
			part++
		}
		if drop == 0 {
			return least + int64(part)
		}
		within := make([]int64, 0, counts[part])
		for _, chunk := range chunks {
			for _, value := range chunk {
				if (uint64(value)-uint64(least))>>drop == uint64(part) {
					within = append(within, value)
				}
			}
		}
		chunks, count = [][]int64{within}, len(within)
		least += int64(uint64(part) << drop)
		greatest = least + int64(uint64(1)<<drop-1)
	}
	left := slices.Concat(chunks...)
	slices.Sort(left)
	return left[index]
}
