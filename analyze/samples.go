package analyze

import (
	"math/bits"
	"slices"
)

// chunkSamples is the number of samples in a chunk.
const chunkSamples = 1 << 14

// samples are values of which percentiles are wanted, in no order. They lie in chunks, so that adding one never moves
// the others. The zero samples are empty.
type samples struct {
	chunks [][]int64
	count  int
}

func (s *samples) add(value int64) {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last]) >= chunkSamples {
		var chunk []int64 // most samples are few: the first chunk grows
		if last >= 0 {
			chunk = make([]int64, 0, chunkSamples)
		}
		s.chunks = append(s.chunks, chunk)
		last++
	}
	s.chunks[last] = append(s.chunks[last], value)
	s.count++
}

// take adds the samples of another, which is not used any more.
func (s *samples) take(other *samples) {
	s.chunks = append(s.chunks, other.chunks...)
	s.count += other.count
}

// each passes all values on.
func (s *samples) each(tell func(int64)) {
	for _, chunk := range s.chunks {
		for _, value := range chunk {
			tell(value)
		}
	}
}

// shift adds a number to all values.
func (s *samples) shift(by int64) {
	for _, chunk := range s.chunks {
		for i := range chunk {
			chunk[i] += by
		}
	}
}

const (
	// rangeBits is the number of bits by which ranked tells the values of a range apart at once.
	rangeBits = 12
	ranges    = 1 << rangeBits
	// fewSamples are sorted.
	fewSamples = 256
)

// ranked returns the value that would be at an index if the values were sorted; they are between least and greatest. It
// counts how many are in which of many equal parts of the range, and goes on with the part in which the index falls:
// sorting all takes several times as long.
func (s *samples) ranked(index int, least, greatest int64) int64 {
	chunks, count := s.chunks, s.count
	for count > fewSamples {
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
	few := slices.Concat(chunks...)
	slices.Sort(few)
	return few[index]
}
