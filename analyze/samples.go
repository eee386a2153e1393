package analyze

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
