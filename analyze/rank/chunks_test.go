package rank

import (
	"slices"
	"testing"
)

func TestChunksKeepAll(t *testing.T) {
	for _, count := range []int{0, 1, chunkValues, 3*chunkValues + 17} {
		var s, half Chunks[int64]
		var want, got []int64
		for i := range int64(count) {
			want = append(want, i)
			if i%2 == 0 {
				s.Add(i)
			} else {
				half.Add(i)
			}
		}
		s.Take(&half)
		for _, chunk := range s.All() {
			got = append(got, chunk...)
		}
		slices.Sort(got)
		if s.Len() != count || !slices.Equal(got, want) {
			t.Errorf("%d values, of which %d are told of; want %d", s.Len(), len(got), count)
		}
	}
}
