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

func TestWhatAlwaysCameOrWentDiffers(t *testing.T) {
	for _, test := range []struct {
		name string
		kind string
		pair pair
		want Presence
		is   bool
	}{
		{"all of B", KindCallback, pair{{}, sideOf(0, 1, unknownVehicle)}, Presence{"came", KindCallback, "x", 3, 3}, true},
		{"one of B", KindCallback, pair{{}, sideOf(0)}, Presence{"came", KindCallback, "x", 1, 3}, false},
		{"all of A", KindCommunication, pair{sideOf(0, 1), {}}, Presence{"went", KindCommunication, "x", 2, 2}, true},
		{"one of A", KindCommunication, pair{sideOf(0), {}}, Presence{"went", KindCommunication, "x", 1, 2}, false},
		{"a path that A was perhaps not asked for", KindPath, pair{{}, sideOf(0, 1, 2)}, Presence{"came", KindPath, "x", 3, 3}, false},
	} {
		d := &Difference{Groups: [2]GroupSize{{Recordings: 2}, {Recordings: 3}}}
		d.compare(map[Subject]*pair{{test.kind, "x"}: &test.pair}, Options{Alpha: 0.01})
		if len(d.Entities) != 1 || d.Entities[0] != test.want || d.Differs() != test.is {
			t.Errorf("%s: %+v, differs is %t", test.name, d.Entities, d.Differs())
		}
	}
}
