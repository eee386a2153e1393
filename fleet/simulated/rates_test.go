package simulated_test

import (
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/fleet/simulated"
)

var options = significance.Options{Alpha: 0.01, MinChange: 0.03}

// `make check-fleet` measures the same in more trials.
func TestFalseAlarms(t *testing.T) {
	for _, apart := range []bool{false, true} {
		f := simulated.Default()
		f.Releases, f.Vehicles, f.Recordings, f.Regression, f.Apart = 2, 6, 24, 0, apart
		// Any change counts, so that the test alone decides.
		r := f.Measure(200, significance.Options{Alpha: options.Alpha})
		if r.Alarms.Times > 0 && 1-(distuv.Binomial{N: float64(r.Alarms.Of), P: options.Alpha}).CDF(float64(r.Alarms.Times-1)) < 0.001 {
			t.Errorf("apart %v: %v false alarms", apart, r.Alarms)
		}
	}
}

func TestPower(t *testing.T) {
	f := simulated.Default()
	f.Releases, f.Vehicles, f.Recordings = 2, 20, 80
	if r := f.Measure(20, options); r.Found.Times < 18 || r.Unknown.Times > 0 {
		t.Errorf("with vehicles in both: %+v", r)
	}
	f.Apart = true
	if r := f.Measure(20, options); r.Found.Times > 2 {
		t.Errorf("with vehicles that differ by more than the change: %+v", r)
	}
	f.Vehicles, f.Recordings = 2, 2
	if r := f.Measure(2, options); r.Unknown.Times != r.Unknown.Of {
		t.Errorf("of two recordings: %+v", r)
	}
}
