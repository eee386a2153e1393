package analyze

import (
	"math/rand/v2"
	"testing"
)

func TestSortByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	type event struct {
		at    int64
		order int
	}
	for _, displaced := range []int{1, 3, 50, 1_000_000} {
		var events []*event
		for i := range 5000 {
			events = append(events, &event{at: int64(i+random.IntN(displaced)) / 2, order: i})
		}
		sortByTime(events, func(e *event) int64 { return e.at })
		for i := 1; i < len(events); i++ {
			a, b := events[i-1], events[i]
			if a.at > b.at || a.at == b.at && a.order > b.order {
				t.Fatalf("displaced by up to %d: %+v comes before %+v", displaced, *a, *b)
			}
		}
	}
}
