package significance

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// ofValues is the median of a recording with these durations, one a microsecond.
func ofValues(values []int64) Median {
	s := NewSeries(0, int64(len(values))*1000)
	for i, v := range values {
		s.Add(int64(i)*1000, v)
	}
	return s.Median()
}

// The error of the median of independent normal durations is σ·√(π/2n).
func TestMedianOfIndependentDurations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]int64, 20_000)
	for i := range values {
		values[i] = int64(1e6 + 1e5*random.NormFloat64())
	}
	m := ofValues(values)
	want := 1e5 * math.Sqrt(math.Pi/2/float64(len(values)))
	if !m.Known || m.Error < 0.8*want || m.Error > 2*want {
		t.Errorf("%+v, want an error of %v or somewhat more", m, want)
	}
	sorted := slices.Sorted(slices.Values(values))
	if m.Value != sorted[len(sorted)/2-1] || m.Count != 20_000 || m.Kept != m.Count {
		t.Errorf("%+v, want the nearest rank %d of all", m, sorted[len(sorted)/2-1])
	}
}

// Of durations with a first-order correlation ρ, (1−ρ)/(1+ρ) count as independent ones for the mean; for a median of
// normal ones, somewhat more.
func TestMedianOfCorrelatedDurations(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	simulate := func(n int) Median {
		values, state := make([]int64, n), 0.0
		for i := range values {
			state = 0.99*state + math.Sqrt(1-0.99*0.99)*random.NormFloat64()
			values[i] = int64(1e6 + 1e5*state)
		}
		return ofValues(values)
	}
	if m := simulate(1500); m.Known {
		t.Errorf("30 s at 50 Hz are said to be enough: %+v", m)
	}
	if m := simulate(200_000); !m.Known || m.Effective < 300 || m.Effective > 2000 {
		t.Errorf("%+v, want about 1000 effective durations", m)
	}
}

// The median of another recording of two modes may lie in either.
func TestMedianBetweenModes(t *testing.T) {
	values := make([]int64, 4000)
	for i := range values {
		values[i] = 1_000_000 * int64(1+i%2)
	}
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	if m := ofValues(values); m.Error < 400_000 {
		t.Errorf("%+v: the other mode is 1 ms away", m)
	}
}

func TestMedianOfFew(t *testing.T) {
	for _, values := range [][]int64{nil, {5}, {5, 5}, {1, 2, 3}, {-3, 0, 7, 9, 11}} {
		if m := ofValues(values); m.Known || m.Count != uint64(len(values)) || math.IsNaN(m.Error) {
			t.Errorf("%v: %+v", values, m)
		}
	}
	same := slices.Repeat([]int64{7}, 100)
	if m := ofValues(same); m.Value != 7 || !m.Known || m.Error > 1 {
		t.Errorf("durations that are all the same: %+v", m)
	}
}

// What is kept of many durations depends neither on their order nor on who gathered them.
func TestSeriesDropsTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	type instance struct{ at, duration int64 }
	instances := make([]instance, 10_000)
	for i := range instances {
		instances[i] = instance{int64(i) * 100, 1000 + random.Int64N(1000)}
	}
	gather := func(parts int) Median {
		var all []*Series
		for range parts {
			s := NewSeries(0, 1_000_000)
			s.limit = 1000
			all = append(all, s)
		}
		for i, in := range instances {
			all[i*i%parts].Add(in.at, in.duration)
		}
		for _, s := range all[1:] {
			all[0].Merge(s)
		}
		return all[0].Median()
	}
	alone := gather(1)
	if alone.Count != 10_000 || alone.Kept > 1000 || alone.Kept < 400 {
		t.Errorf("%+v, want a part of 10,000 within 1000", alone)
	}
	if alone.Value < 1400 || alone.Value > 1600 {
		t.Errorf("%+v, want a median of about 1500", alone)
	}
	random.Shuffle(len(instances), func(i, j int) { instances[i], instances[j] = instances[j], instances[i] })
	if together := gather(3); together != alone {
		t.Errorf("%+v of three, %+v of one", together, alone)
	}
}

func TestSliceOfTime(t *testing.T) {
	s := NewSeries(100, 199)
	for at, want := range map[int64]uint16{0: 0, 100: 0, 150: timeSlices / 2, 199: timeSlices * 99 / 100, 500: timeSlices * 99 / 100} {
		if got := s.slice(at); got != want {
			t.Errorf("%d is in slice %d, want %d", at, got, want)
		}
	}
	if got := NewSeries(math.MinInt64/4, math.MaxInt64/4).slice(math.MaxInt64 / 4); got != timeSlices-1 {
		t.Errorf("the end is in slice %d", got)
	}
}

func runs(values ...int64) []Median {
	var medians []Median
	for _, v := range values {
		medians = append(medians, Median{Value: v, Error: 1, Freedom: 100, Known: true})
	}
	return medians
}

// Welch's t-test, as R's t.test(a, b) has it.
func TestCompareRuns(t *testing.T) {
	c := Compare(runs(1000, 1020, 1040), runs(1100, 1110, 1120), 0.5)
	// Means 1020 and 1110, variances 400 and 100 of 3 each: t = 90/√(500/3) = 6.971, ν = 500²/(400²/2 + 100²/2) = 2.941.
	if math.Abs(c.Error-math.Sqrt(500.0/3)) > 1e-9 || math.Abs(c.Freedom-2.941176) > 1e-6 || math.Abs(c.P-0.006376) > 5e-4 || c.Assumed || !c.Known {
		t.Errorf("%+v", c)
	}
	// How close together medians are by chance does not make them more certain than each of them is.
	equal := runs(1000, 1000, 1000)
	for i := range equal {
		equal[i].Error = 300
	}
	if c := Compare(equal, runs(1100, 1100, 1100), 0); c.P < 0.05 {
		t.Errorf("%+v: medians are only known to 300", c)
	}
	if c := Compare(runs(1000, 1020, 1040), runs(1100), 0.5); c.Assumed || c.Freedom != 2 || math.Abs(c.Error-math.Sqrt(400*4/3.0)) > 1e-9 {
		t.Errorf("one recording after several: %+v", c)
	}
}

func TestCompareSingleRecordings(t *testing.T) {
	c := Compare(runs(1000), runs(1050), 0.03)
	if want := math.Sqrt(30*30 + 31.5*31.5 + 2); !c.Assumed || math.Abs(c.Error-want) > 1e-9 || c.P < 0.2 || !c.Known {
		t.Errorf("%+v, want an error of %v", c, want)
	}
	if c := Compare(runs(1000), runs(1050), 0); c.P > 1e-6 {
		t.Errorf("without noise from run to run: %+v", c)
	}
	short := runs(1050)
	short[0].Known = false
	if f := JudgeFamily([]Pair{{runs(1000), short}}, Options{Alpha: 0.01, MinChange: 0.01})[0]; f.Verdict != TooShort {
		t.Errorf("a recording that is too short: %+v", f)
	}
}

func TestJudgeFamily(t *testing.T) {
	options := Options{Alpha: 0.01, MinChange: 0.03, RunNoise: 0.001}
	for _, test := range []struct {
		before, after int64
		want          Verdict
	}{{100_000, 100_050, Noise}, {100_000, 102_000, Small}, {100_000, 104_000, Changed}, {100_000, 96_000, Changed}, {0, 10_000, Changed}} {
		f := JudgeFamily([]Pair{{runs(test.before), runs(test.after)}}, options)[0]
		if f.Verdict != test.want {
			t.Errorf("%d to %d: %+v, want %s", test.before, test.after, f, test.want)
		}
		if detected := math.Abs(f.After-f.Before) >= f.Detectable; detected != (test.want == Changed) {
			t.Errorf("%d to %d: %+v, but %v could be detected", test.before, test.after, f, f.Detectable)
		}
	}
}

// The values are those of R's p.adjust(p, "holm").
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005, 0.6})
	for i, want := range []float64{0.04, 0.09, 0.09, 0.025, 0.6} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("%v at %d, want %v", got, i, want)
		}
	}
}

func TestRecordingsForPermutation(t *testing.T) {
	// 2/C(2n, n): 3 are 2/20, 4 are 2/70, 5 are 2/252.
	for alpha, want := range map[float64]int{0.1: 3, 0.05: 4, 0.01: 5, 0.001: 7} {
		if got := RecordingsForPermutation(alpha); got != want {
			t.Errorf("α %v: %d recordings, want %d", alpha, got, want)
		}
	}
}
