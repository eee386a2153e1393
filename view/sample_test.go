package view

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze"
)

// A sample has the things of the least ranks, by rank, in whatever order they came.
func TestSample(t *testing.T) {
	for _, count := range []int{0, 1, 9, 10, 11, 1000} {
		for seed := range uint64(5) {
			s := sample[uint64]{most: 10}
			order := rand.New(rand.NewPCG(seed, 1)).Perm(count)
			for _, rank := range order {
				s.add(uint64(rank), uint64(rank))
			}
			var want []uint64
			for rank := range min(count, 7) {
				want = append(want, uint64(rank))
			}
			if got := s.first(7); !slices.Equal(got, want) {
				t.Errorf("of %v there are %v, want %v", order, got, want)
			}
		}
	}
}

// Of many ways all are counted, and as many are shown as is said, the slowest among them; of few, all.
func TestWaysThatAreShown(t *testing.T) {
	for _, count := range []int{1, shownWays, shownWays + slowestWays, shownWays + slowestWays + 1, 20_000} {
		gathering := make(wayGathering)
		for i := range count {
			total := int64(i % 1000)
			if i%7 == 3 {
				total = -total // between the clocks of two hosts
			}
			begin := analyze.PathHopInstance{Path: "path", Begin: int64(i)}
			begin.Latency.Value, begin.Latency.Valid = total, true
			if err := gathering.add([]analyze.PathHopInstance{begin, {Path: "path", Hop: 1}, {Path: "path", Hop: 2}}); err != nil {
				t.Fatal(err)
			}
		}
		ways := gathering["path"]
		shown := ways.shown()
		if ways.count != count || len(shown) < min(count, shownWays) || len(shown) > min(count, shownWays+slowestWays) {
			t.Errorf("of %d ways %d are shown", count, len(shown))
		}
		slowest := ways.slowest.first(slowestWays)
		for i, w := range shown {
			if len(w.hops) != 2 || i > 0 && w.begin <= shown[i-1].begin {
				t.Fatalf("way %d is %+v", i, w)
			}
			if w.total > slowest[len(slowest)-1].total && !slices.Contains(slowest, w) {
				t.Errorf("%+v is slower than the slowest ones", w)
			}
		}
		for _, w := range slowest {
			if !slices.Contains(shown, w) {
				t.Errorf("%+v, one of the slowest, is not shown", w)
			}
		}
	}
}

// Of many messages of a window those that were dropped come first, whatever order they come in, and all are counted.
func TestMessagesThatAreShown(t *testing.T) {
	for _, test := range []struct{ dropped, others, wantDropped, wantShown int }{
		{0, 0, 0, 0}, {3, 4, 3, 7}, {100, 5000, 100, shownMessages}, {5000, 5000, shownMessages, shownMessages},
	} {
		var former []flowMessage
		for seed := range uint64(3) {
			flow := newGatheredFlow(flowSpan{From: 10, To: 10 + int64(test.dropped+test.others) - 1})
			flow.add(&flowMessage{Times: []int64{9}, Fate: analyze.Lost})
			for _, i := range rand.New(rand.NewPCG(seed, 2)).Perm(test.dropped + test.others) {
				m := flowMessage{Times: []int64{10 + int64(i), 20 + int64(i)}, Fate: analyze.Received}
				if i < test.dropped {
					m.Fate = analyze.Unused
				}
				flow.add(&m)
			}
			got := flow.shown([]string{"/a", "/b"})
			if got.Ways != test.dropped+test.others || got.MessagesTotal != got.Ways || got.Fates[analyze.Unused] != test.dropped ||
				got.Fates[analyze.Lost] != 0 || got.DroppedShown != test.wantDropped || got.Shown != test.wantShown || len(got.Messages) != got.Shown {
				t.Errorf("of %+v there are %d ways (%v), %d shown, %d of them dropped", test, got.Ways, got.Fates, got.Shown, got.DroppedShown)
			}
			same := func(a, b flowMessage) bool { return slices.Equal(a.Times, b.Times) }
			if seed > 0 && !slices.EqualFunc(got.Messages, former, same) {
				t.Errorf("of %+v other ones are shown when they come in another order", test)
			}
			former = got.Messages
		}
	}
}
