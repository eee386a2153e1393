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
