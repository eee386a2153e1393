package analyze

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestGivenUpFlights: what later messages have overtaken is lost at the end of the next window, and what was published
// since is not, though the clock was set back before.
func TestGivenUpFlights(t *testing.T) {
	for name, test := range map[string]struct {
		second []int64 // source timestamps of messages of the second window
		lost   [][]int64
	}{
		"clock goes on":     {[]int64{40}, [][]int64{nil, {10}, nil}},
		"nothing published": {nil, [][]int64{nil, {10}, nil}},
		"clock set back":    {[]int64{5}, [][]int64{nil, nil, {5, 10}}},
	} {
		t.Run(name, func(t *testing.T) {
			q := newFlightQueue(route{})
			push := func(sources ...int64) {
				for _, source := range sources {
					q.push(&departure{source: trace.Some(source)})
				}
			}
			push(10, 20, 30)
			q.receive(q.find(20))
			for i, want := range test.lost {
				if i == 1 {
					push(test.second...)
				}
				var lost []int64
				q.giveUp(func(d *departure, fate Fate) {
					if fate != Lost {
						t.Errorf("%d is %s", d.source.Value, fate)
					}
					lost = append(lost, d.source.Value)
				})
				if !slices.Equal(lost, want) {
					t.Errorf("window %d: lost %v, want %v", i, lost, want)
				}
			}
		})
	}
}

// TestFlightsThatNobodyReceives: of a subscription that receives nothing only so many are kept; the others are told,
// the oldest first.
func TestFlightsThatNobodyReceives(t *testing.T) {
	q := newFlightQueue(route{})
	var told []int64
	for source := range int64(keptFlights + 3) {
		q.push(&departure{source: trace.Some(source)})
	}
	q.giveUp(func(d *departure, fate Fate) {
		if fate != Open {
			t.Errorf("%d is %s", d.source.Value, fate)
		}
		told = append(told, d.source.Value)
	})
	if want := []int64{0, 1, 2}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	if i := q.find(3); i != 0 || len(q.flights) != keptFlights {
		t.Errorf("the oldest is the %dth of %d", i, len(q.flights))
	}
}
