package system

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// randomLife has few times, so that lives meet, and at times those at the ends of all time, or an end before the begin.
func randomLife(random *rand.Rand) (life Life) {
	times := []int64{math.MinInt64, math.MinInt64 + 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31, math.MaxInt64 - 1, math.MaxInt64}
	if random.IntN(4) > 0 {
		life.Init = trace.Some(times[random.IntN(len(times))])
	}
	if random.IntN(4) > 0 {
		life.End = trace.Some(times[random.IntN(len(times))])
	}
	return life
}

// TestManyResidentsAreFoundAsFew compares what an index finds with what is found by going through all lives.
func TestManyResidentsAreFoundAsFew(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		var few, many Residents[int]
		for i := range fewResidents + 1 + random.IntN(20) {
			life := randomLife(random)
			few.add(life, i)
			many.add(life, i)
		}
		if many.arrange(); many.index == nil {
			t.Fatal("there is no index")
		}
		for range 100 {
			life := randomLife(random)
			first, last := life.first(), life.last()
			if got, want := many.At(first), few.At(first); got != want {
				t.Fatalf("seed %d: at %d lives %d, want %d of %+v", seed, first, got, want, few.all)
			}
			if got, want := many.overlappingAt(life), few.overlappingAt(life); got != want {
				t.Fatalf("seed %d: %+v overlaps %d, want %d of %+v", seed, life, got, want, few.all)
			}
			got, sure := many.during(trace.Span{First: first, Last: last})
			if want, wantSure := few.during(trace.Span{First: first, Last: last}); got != want || sure != wantSure {
				t.Fatalf("seed %d: from %d to %d lives %d (%t), want %d (%t) of %+v", seed, first, last, got, sure, want, wantSure, few.all)
			}
		}
	}
}

// TestDisjointLivesAreFound adds lives in any order, more than a block holds.
func TestDisjointLivesAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var lives disjointLives[int]
	added := map[int]bool{}
	for _, i := range random.Perm(5 * maxBlock) {
		begin, end := int64(10*i), int64(10*i+5)
		moment := func(at int64) Life { return Life{trace.Some(at), trace.Some(at + 1)} }
		if lives.overlapping(moment(begin)) != 0 {
			t.Fatalf("%d is there before it was added", i)
		}
		lives.add(Life{trace.Some(begin), trace.Some(end)}, i+1)
		added[i] = true
		for at, want := range map[int64]int{begin: i + 1, end - 1: i + 1, end: 0} {
			if got := lives.overlapping(moment(at)); got != want {
				t.Fatalf("at %d lives %d, want %d", at, got, want)
			}
		}
		latest := 0
		for other := range added {
			latest = max(latest, other+1)
		}
		if got := lives.overlapping(Life{}); got != latest {
			t.Fatalf("the last one is %d, want %d", got, latest)
		}
	}
}

// TestAudiencesAreThoseWhoLiveAtOnce compares what is found with going through all subscriptions.
func TestAudiencesAreThoseWhoLiveAtOnce(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		x := new(audience)
		for range 1 + random.IntN(20) {
			x.subscriptions = append(x.subscriptions, &Subscription{Life: randomLife(random)})
		}
		x.arrange()
		for range 50 {
			life := randomLife(random)
			var want []int32
			for i, s := range x.subscriptions {
				if life.overlaps(s.Life) {
					want = append(want, int32(i))
				}
			}
			if got := x.during(life, len(x.subscriptions)); !slices.Equal(got, want) {
				t.Fatalf("seed %d: during %+v live %v, want %v", seed, life, got, want)
			}
		}
	}
}

// Rows without numbers are of one entity where their begins or their ends are the same, or the last one goes on.
func TestRowsWithoutNumbers(t *testing.T) {
	at := func(init, end int64) trace.Publisher { // 0 is null
		p := trace.Publisher{PublisherHandle: 1}
		if init != 0 {
			p.InitTimestamp = trace.Some(init)
		}
		if end != 0 {
			p.EndTimestamp = trace.Some(end)
		}
		return p
	}
	for _, c := range []struct {
		name string
		rows []trace.Publisher
		want string
	}{
		{"one goes on", []trace.Publisher{at(1, 0), at(1, 0), at(1, 5)}, "1-5"},
		{"one ends and another begins", []trace.Publisher{at(1, 5), at(6, 0)}, "1-5 6-0"},
		{"one is repeated after another has begun", []trace.Publisher{at(1, 0), at(6, 0), at(1, 5)}, "1-5 6-0"},
		{"a begin that becomes known", []trace.Publisher{at(0, 0), at(1, 0)}, "1-0"},
		{"an end tells which one it is", []trace.Publisher{at(0, 5), at(0, 9), at(0, 5), at(1, 9)}, "0-5 1-9"},
		{"an end before the begin of the last one", []trace.Publisher{at(6, 0), at(0, 5)}, "6-0 0-5"},
		{"what goes on after others have ended", []trace.Publisher{at(0, 0), at(0, 5), at(6, 8), at(0, 0), at(0, 0)}, "0-5 6-8 0-0"},
	} {
		rows := newLoader().publishers
		for i := range c.rows {
			rows.add(&c.rows[i])
		}
		got := ""
		for i, life := range rows.lives() {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprintf("%d-%d", life.Init.Value, life.End.Value)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestWhatHappensInTheNanosecondOfAnEnd is of the one that ended, unless another one has begun.
func TestWhatHappensInTheNanosecondOfAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		lives []Life
		at    int64
		want  int
	}{
		"nobody else":     {[]Life{{trace.Some(int64(10)), trace.Some(int64(20))}}, 20, 0},
		"a later time":    {[]Life{{trace.Some(int64(10)), trace.Some(int64(20))}}, 21, -1},
		"the next begins": {[]Life{{trace.Some(int64(10)), trace.Some(int64(20))}, {Init: trace.Some(int64(20))}}, 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var r Residents[int]
			for i, life := range c.lives {
				r.add(life, i)
			}
			if got := r.At(c.at); got != c.want {
				t.Errorf("at %d it is %d, want %d", c.at, got, c.want)
			}
			if found, ok := r.during(trace.Span{First: c.at, Last: c.at}); !ok || c.want >= 0 && found != c.want {
				t.Errorf("during %d it is %d (%t), want %d", c.at, found, ok, c.want)
			}
		})
	}
}
