package fleet

import (
	"testing"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
)

// sideOf has a recording of each vehicle, with ten durations.
func sideOf(vehicles ...int32) (s side) {
	for _, vehicle := range vehicles {
		s.add(vehicle, statistic{count: 10, exact: true, value: 1000 + int64(vehicle)})
	}
	return s
}

func TestOnlyWhatIsComparedIsCounted(t *testing.T) {
	for _, test := range []struct {
		name  string
		pair  pair
		basis significance.Basis
		want  [2]int
	}{
		{"vehicles of one group", pair{sideOf(0, 1, 2, 3, 4), sideOf(2, 3, 4, 5, 5, 5)}, significance.VehiclesInBoth, [2]int{3, 3}},
		{"other vehicles", pair{sideOf(0, 1, 2, 2), sideOf(3, 4, 5)}, significance.Vehicles, [2]int{4, 3}},
		{"one vehicle in both", pair{sideOf(0, 0, 0, 1), sideOf(0, 0, 0, 0, 2)}, significance.Recordings, [2]int{3, 4}},
		{"unknown vehicles", pair{sideOf(unknownVehicle, 0), sideOf(0)}, significance.NoBasis, [2]int{1, 1}},
	} {
		d := new(Difference)
		d.compare(map[Subject]*pair{{KindPath, "p"}: &test.pair}, Options{Alpha: 0.01})
		l := d.Latencies[0]
		if l.Basis != test.basis || l.RecordingsA != test.want[0] || l.RecordingsB != test.want[1] ||
			l.CountA != uint64(10*test.want[0]) || l.CountB != uint64(10*test.want[1]) {
			t.Errorf("%s: %+v, want %v recordings", test.name, l, test.want)
		}
	}
}
