package fleet

import (
	"math"
	"testing"
)

func TestFewDurationsAreKeptOfMany(t *testing.T) {
	d := newDurations()
	d.limit = 10_000
	large, small := d.begin(), d.begin()
	for i := range int64(1_000_000) {
		d.add(large, i)
		if i%10_000 == 0 {
			d.add(small, i)
		}
		if d.kept > d.limit {
			t.Fatalf("%d are kept", d.kept)
		}
	}
	of, ok := large.percentile(50)
	if !ok || of.exact || of.count != 1_000_000 || math.Abs(float64(of.value)-500_000) > 30_000 {
		t.Errorf("%+v", of)
	}
	if of, ok := small.percentile(99); !ok || !of.exact || of.count != 100 || of.value != 980_000 {
		t.Errorf("%+v of few", of)
	}
	if _, ok := new(sample).percentile(50); ok {
		t.Error("a percentile of nothing")
	}
}

// Products of percents and numbers may come out just above a whole number.
func TestRanksOfPercentiles(t *testing.T) {
	for _, test := range []struct {
		percent     float64
		count, want int64
	}{{50, 4, 2}, {55, 100, 55}, {7, 100, 7}, {99.9, 1000, 999}, {99.9, 2000, 1998}, {99.9, 10_000, 9990}, {100, 3, 3}, {0.1, 3, 1}} {
		d := newDurations()
		s := d.begin()
		for i := range test.count {
			d.add(s, i+1)
		}
		if of, ok := s.percentile(test.percent); !ok || of.value != test.want {
			t.Errorf("%v %% of 1 to %d: %d, want %d", test.percent, test.count, of.value, test.want)
		}
	}
}
