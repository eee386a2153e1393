package analyze

import "github.com/caret-bpf/caret-bpf/analyze/rank"

// samples are values of which percentiles are wanted, in no order. The zero samples are empty.
type samples struct{ rank.Chunks[int64] }

// each passes all values on.
func (s *samples) each(tell func(int64)) {
	for _, chunk := range s.All() {
		for _, value := range chunk {
			tell(value)
		}
	}
}

// shift adds a number to all values.
func (s *samples) shift(by int64) {
	for _, chunk := range s.All() {
		for i := range chunk {
			chunk[i] += by
		}
	}
}
