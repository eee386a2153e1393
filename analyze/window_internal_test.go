package analyze

import (
	"context"
	"math"
	"slices"
	"testing"
)

// TestRowsOfOneTimeKeepTheirOrder: also where a group has rows of a later window, in which those of the next group are.
func TestRowsOfOneTimeKeepTheirOrder(t *testing.T) {
	groups := [][]timed[int]{{{10, new(int)}, {30, new(int)}}, {{30, new(int)}, {40, new(int)}}}
	for i, g := range groups {
		for j := range g {
			*g[j].event = 10*i + j
		}
	}
	s := stream[int]{
		groups: []tableGroup{{begin: 10, dataset: 0}, {begin: 30, dataset: 1}},
		read: func(_ context.Context, _ int, g tableGroup) ([]timed[int], error) {
			return groups[g.dataset], nil
		},
	}
	var got []int
	for _, limit := range []int64{30, math.MaxInt64} {
		tasks, finish := s.reading(limit)
		for _, task := range tasks {
			if err := task(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, event := range finish() {
			got = append(got, *event)
		}
	}
	if want := []int{0, 1, 10, 11}; !slices.Equal(got, want) {
		t.Errorf("in the order %v, want %v", got, want)
	}
}
