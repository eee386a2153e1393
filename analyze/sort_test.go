package analyze

import (
	"math/rand/v2"
	"testing"
)

func TestSortByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, displaced := range []int{1, 3, 50, 1_000_000} {
		var events []timed[int]
		for i := range 5000 {
			events = append(events, timed[int]{at: int64(i+random.IntN(displaced)) / 2, event: &i})
		}
		sortByTime(events)
		for i := 1; i < len(events); i++ {
			a, b := events[i-1], events[i]
			if a.at > b.at || a.at == b.at && *a.event > *b.event {
				t.Fatalf("displaced by up to %d: %d at %d comes before %d at %d", displaced, *a.event, a.at, *b.event, b.at)
			}
		}
	}
}
