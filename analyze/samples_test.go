package analyze

import (
	"slices"
	"testing"
)

func TestSamplesKeepAll(t *testing.T) {
	for _, count := range []int{0, 1, chunkSamples, 3*chunkSamples + 17} {
		var s, half samples
		var want, got []int64
		for i := range int64(count) {
			want = append(want, i)
			if i%2 == 0 {
				s.add(i)
			} else {
				half.add(i)
			}
		}
		s.take(&half)
		s.each(func(value int64) { got = append(got, value) })
		slices.Sort(got)
		if s.count != count || !slices.Equal(got, want) {
			t.Errorf("%d samples, of which %d are told of; want %d", s.count, len(got), count)
		}
	}
}
