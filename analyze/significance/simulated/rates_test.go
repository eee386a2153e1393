package simulated

import (
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// tooMany tells whether a rate is above α, beyond the chance of one in a thousand.
func tooMany(c Count, alpha float64) bool {
	return c.Times > 0 && 1-(distuv.Binomial{N: float64(c.Of), P: alpha}).CDF(float64(c.Times-1)) < 0.001
}

// withoutRunNoise are systems whose runs are alike: nothing has to be assumed of them.
func withoutRunNoise(s System) bool {
	return s.RunNoise == 0 && s.Name != "drift of 3 %, 10 min" && s.Name != "each run in one of two modes, 10 % apart"
}

// `make check-diff` measures the same in more trials.
func TestFalseAlarms(t *testing.T) {
	trials := 12
	if testing.Short() {
		trials = 4
	}
	options := Options()
	for i, s := range Systems() {
		r := Measure(s, uint64(i), trials, options)
		for j, count := range r.Alarms {
			// Run noise that is far from normal is not known from single recordings, nor from three.
			if s.Name == "each run in one of two modes, 10 % apart" && Recordings[j] < 5 {
				continue
			}
			if tooMany(count[0], options.Alpha) {
				t.Errorf("%s, %v: %v false alarms with %d recordings a side", s.Name, s.Length, count[0], Recordings[j])
			}
		}
		if withoutRunNoise(s) && tooMany(r.Within, options.Alpha) {
			t.Errorf("%s, %v: %v false alarms by the error within recordings", s.Name, s.Length, r.Within)
		}
	}
}

func TestPower(t *testing.T) {
	for _, s := range Systems() {
		if s.Name != "independent, normal" {
			continue
		}
		r := Measure(s, 1, 5, Options())
		if single := r.Alarms[0][3]; single.Times < single.Of*9/10 {
			t.Errorf("%v of changes of 20 %% are found with one recording a side", single)
		}
		if several := r.Alarms[1][1]; several.Times < several.Of*9/10 {
			t.Errorf("%v of changes of 5 %% are found with three recordings a side", several)
		}
	}
}
