package analyze

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestSortByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	times := make(map[string]func(i int) int64)
	for _, displaced := range []int{1, 3, 50, 1_000_000} {
		times[fmt.Sprintf("displaced by up to %d", displaced)] = func(i int) int64 { return int64(i+random.IntN(displaced)) / 2 }
	}
	for _, lists := range []int{1, 2, 3, 7, 32} {
		times[fmt.Sprintf("%d sorted lists", lists)] = func(i int) int64 { return int64(i * lists % 5000 / 3) }
	}
	times["reversed"] = func(i int) int64 { return int64(-i) }
	for name, at := range times {
		var events []timed[int]
		for i := range 5000 {
			events = append(events, timed[int]{at: at(i), event: &i})
		}
		sortByTime(events)
		for i := 1; i < len(events); i++ {
			a, b := events[i-1], events[i]
			if a.at > b.at || a.at == b.at && *a.event > *b.event {
				t.Fatalf("%s: %d at %d comes before %d at %d", name, *a.event, a.at, *b.event, b.at)
			}
		}
	}
}
