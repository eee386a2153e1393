package significance

import (
	"math"
	"math/rand/v2"
	"testing"
)

// observationsOf has the values of each vehicle.
func observationsOf(vehicles ...[]int64) (observations []Observation) {
	for vehicle, values := range vehicles {
		for _, value := range values {
			observations = append(observations, Observation{int32(vehicle), value})
		}
	}
	return observations
}

// The example was worked out by hand: the changes are ln 1.1, ln 1.2 and ln 1.1.
func TestPairedComparison(t *testing.T) {
	before := observationsOf([]int64{1e6, 1e6}, []int64{2e6}, []int64{5e6}, []int64{9e9})
	after := observationsOf([]int64{1.1e6}, []int64{2.4e6, 2.4e6}, []int64{5.5e6})
	c := CompareNested(before, after)
	if c.Basis != VehiclesInBoth || c.Units != [2]int{3, 3} || c.Freedom != 2 {
		t.Fatalf("%+v", c)
	}
	// The standard deviation of the changes is ln(12/11)·√3/3; the vehicle of one side does not count.
	if want := math.Log(12.0/11) * math.Sqrt(3) / 3; math.Abs(c.BetweenVehicles-want) > 1e-9 || math.Abs(c.Error-want/math.Sqrt(3)) > 1e-9 {
		t.Errorf("noise %v, error %v, want %v", c.BetweenVehicles, c.Error, want)
	}
	if want := math.Cbrt(1.1*1.2*1.1) - 1; math.Abs(c.Change-want) > 1e-9 {
		t.Errorf("change %v, want %v", c.Change, want)
	}
	// t = 4.286 with two degrees of freedom
	if math.Abs(c.P-0.0504) > 0.0005 {
		t.Errorf("p is %v", c.P)
	}
}

func TestBasis(t *testing.T) {
	three, one := []int64{100e3, 101e3, 102e3}, []int64{100e3}
	none := []int64{}
	for _, test := range []struct {
		name          string
		before, after []Observation
		want          Basis
		units         [2]int
	}{
		{"three vehicles in both", observationsOf(one, one, one), observationsOf(one, three, one), VehiclesInBoth, [2]int{3, 3}},
		{"three vehicles a side", observationsOf(three, three, one), observationsOf(none, none, none, one, one, one, one), Vehicles, [2]int{3, 4}},
		{"two in both, three a side", observationsOf(one, one, one), observationsOf(one, one, none, three), Vehicles, [2]int{3, 3}},
		{"one vehicle", observationsOf(three), observationsOf(three), Recordings, [2]int{3, 3}},
		{"two vehicles, three recordings", observationsOf(one, []int64{1e5, 1e5}), observationsOf(one, []int64{1e5, 1e5}), Recordings, [2]int{3, 3}},
		{"one vehicle, one recording a side", observationsOf(one), observationsOf(one), NoBasis, [2]int{}},
		{"two vehicles, each on one side", observationsOf(three), observationsOf(none, three), NoBasis, [2]int{}},
		{"two vehicles with one recording a side", observationsOf(one, one), observationsOf(one, one), NoBasis, [2]int{}},
		{"a side without", observationsOf(one, one, one), nil, NoBasis, [2]int{}},
	} {
		c := CompareNested(test.before, test.after)
		if c.Basis != test.want || c.Units != test.units {
			t.Errorf("%s: basis %s of %v, want %s of %v", test.name, c.Basis, c.Units, test.want, test.units)
		}
		finding := JudgeNested([]NestedPair{{test.before, test.after}}, Options{Alpha: 0.01, MinChange: 0.03})[0]
		want := Noise
		if test.want == NoBasis {
			want = Unknown
		}
		if finding.Verdict != want {
			t.Errorf("%s: %s, want %s", test.name, finding.Verdict, want)
		}
	}
}

// Vehicles that happen to agree to the nanosecond do not make every change one.
func TestRecordingsBoundTheErrorFromBelow(t *testing.T) {
	noisy := []int64{80e3, 125e3} // of which the geometric mean is that of all
	same := observationsOf(noisy, noisy, noisy)
	c := CompareNested(same, same)
	if c.BetweenVehicles != 0 || c.Error < 0.1 {
		t.Errorf("%+v", c)
	}
}

func TestOfManyChangesOneIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var pairs []NestedPair
	for subject := range 50 {
		var p NestedPair
		for vehicle := range int32(20) {
			own := 1e6 * math.Exp(0.2*random.NormFloat64())
			for range 3 {
				longer := 1.0
				if subject == 7 {
					longer = 1.05
				}
				p.Before = append(p.Before, Observation{vehicle, int64(own * math.Exp(0.02*random.NormFloat64()))})
				p.After = append(p.After, Observation{vehicle, int64(own * longer * math.Exp(0.02*random.NormFloat64()))})
			}
		}
		pairs = append(pairs, p)
	}
	for subject, f := range JudgeNested(pairs, Options{Alpha: 0.01, MinChange: 0.03}) {
		want := Noise
		if subject == 7 {
			want = Changed
		}
		if f.Verdict != want {
			t.Errorf("subject %d: %s, want %s: %+v", subject, f.Verdict, want, f)
		}
	}
}

// Many recordings of few vehicles do not show a change if the vehicles differ: those who take recordings for
// independent would find one nearly always.
func TestFalseAlarmsOfNestedRecordings(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, apart := range []bool{true, false} {
		const trials = 2000
		alarms := 0
		for range trials {
			var sides [2][]Observation
			for i := range sides {
				for vehicle := range int32(6) {
					own := 1e6 * math.Exp(0.1*random.NormFloat64())
					if apart {
						vehicle += int32(6 * i)
					}
					for range 20 {
						sides[i] = append(sides[i], Observation{vehicle, int64(own * math.Exp(0.01*random.NormFloat64()))})
					}
				}
			}
			if CompareNested(sides[0], sides[1]).P < 0.05 {
				alarms++
			}
		}
		if tooOften := 0.05*trials + 4*math.Sqrt(0.05*0.95*trials); float64(alarms) > tooOften {
			t.Errorf("apart %v: %d alarms in %d trials", apart, alarms, trials)
		}
	}
}
