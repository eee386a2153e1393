package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

func TestStatistics(t *testing.T) {
	var d distribution
	for i := range int64(1000) {
		d.add(i*1_000_000, 1000-i)
	}
	s := d.statistics()
	want := Statistics{
		Count: 1000, Rate: trace.Some(1000.0), Min: trace.Some(int64(1)), Mean: trace.Some(int64(501)), P50: trace.Some(int64(500)), P90: trace.Some(int64(900)),
		P99: trace.Some(int64(990)), P999: trace.Some(int64(999)), Max: trace.Some(int64(1000)), PercentilesExact: true,
	}
	if s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if empty := new(distribution).statistics(); empty.Count != 0 || empty.Min.Valid || empty.Rate.Valid {
		t.Errorf("nothing gives %+v", empty)
	}
}

// Beyond the limit percentiles are off by less than 0.1 %, the rest is exact.
func TestStatisticsOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var parts [3]distribution
	var all []int64
	var sum int64
	for i := range exactSamples + 1000 {
		ns := random.Int64N(1<<uint(random.IntN(40)+1)) - 100
		parts[i%3].add(int64(i), ns)
		all = append(all, ns)
		sum += ns
	}
	parts[0].merge(&parts[1])
	parts[0].merge(&parts[2])
	slices.Sort(all)
	s := parts[0].statistics()
	if s.PercentilesExact || s.Count != uint64(len(all)) || s.Min.Value != all[0] || s.Max.Value != all[len(all)-1] {
		t.Errorf("got %+v", s)
	}
	if mean := float64(sum) / float64(len(all)); float64(s.Mean.Value) < mean-1 || float64(s.Mean.Value) > mean+1 {
		t.Errorf("the mean is %d, want %f", s.Mean.Value, mean)
	}
	for share, got := range map[float64]int64{0.5: s.P50.Value, 0.9: s.P90.Value, 0.99: s.P99.Value, 0.999: s.P999.Value} {
		exact := all[int(share*float64(len(all)))]
		if off := float64(exact-got) / float64(exact); off < -0.001 || off > 0.001 {
			t.Errorf("the percentile %v is %d, exactly %d", share, got, exact)
		}
	}
}
