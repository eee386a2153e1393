package rank

import "testing"

func TestNearestPercentIsExact(t *testing.T) {
	for _, count := range []uint64{1, 7, 100, 1000, 2000, 10_000, 16 << 20} {
		for tenths := uint64(1); tenths <= 1000; tenths++ {
			want := (tenths*count + 999) / 1000
			if got := NearestPercent(float64(tenths)/10, count); got != want {
				t.Errorf("%d tenths of a percent of %d: rank %d, want %d", tenths, count, got, want)
			}
		}
	}
}
