package chart

import (
	"math/rand/v2"
	"testing"
)

// Whatever is added in whichever order, so many points are kept, which count everything and have the extremes.
func TestMomentsAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s := new(TimeSeries)
	const count = 50_000
	for _, i := range random.Perm(count) {
		at := int64(1e18) + int64(i)*1e6
		switch {
		case i == 333:
			s.Add(at, -77)
		case i == 44_444:
			s.Add(at, 7_777_777)
		case i%10 == 0:
			s.AddMissing(at)
		default:
			s.Add(at, int64(i))
		}
	}
	kept := 0
	var sum moment
	s.eachMoment(func(at int64, m moment) {
		kept++
		if at < s.times.first || at > s.times.last {
			t.Errorf("a point is at %d", at)
		}
		mergeMoments(&sum, m)
	})
	if kept > keptMoments || kept < keptMoments/4 {
		t.Errorf("%d points are kept", kept)
	}
	if (sum != moment{count: count * 9 / 10, absent: count / 10, min: -77, max: 7_777_777}) {
		t.Errorf("they are %+v", sum)
	}
}

// There are no more bars than there is room for, and each is the longest of its interval.
func TestLongestBarsAreDrawn(t *testing.T) {
	s := &StackedBar{Parts: []string{"a"}}
	for i := range int64(10_000) {
		s.Add(1e18+i*1e6, []int64{1000 + i%977})
	}
	axis, _ := s.span()
	for _, most := range []int{stackedRows, stackedBars} {
		found, length := s.intervals(axis, most)
		if len(found) > most || len(found) < most/3 {
			t.Errorf("%d bars, want %d at most", len(found), most)
		}
		for _, in := range found {
			longest := int64(0)
			for i := range int64(10_000) {
				if joined := roundTime(1e18+i*1e6, s.bars.coarseness) - axis.first; floorTo(max(joined, 0), length) == in.begin {
					longest = max(longest, 1000+i%977)
				}
			}
			if in.total != longest {
				t.Errorf("the longest bar of %d ns from %d on is %d, want %d", length, in.begin, in.total, longest)
			}
		}
	}
}
