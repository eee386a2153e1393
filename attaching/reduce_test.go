package attaching

import (
	"maps"
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/probes"
)

// Change asks for what a larger profile or another budget allows, and for nothing that is not of the profile.
func TestChange(t *testing.T) {
	wait, sent := abi.UnitOf(abi.EventWait), abi.UnitOf(abi.EventRequestSent)
	tooDear := retirement{why: "it was detached while recording, to keep --max-overhead 2%", forCost: true}
	byProfile := func(p probes.Profile) retirement {
		return retirement{why: "the profile " + string(p) + ", set while recording, leaves it out"}
	}
	for name, test := range map[string]struct {
		retired map[abi.Unit]retirement
		limit   float64
		profile probes.Profile
		wanted  []abi.Unit
		left    map[abi.Unit]retirement // of wait and sent
	}{
		"the same again":               {map[abi.Unit]retirement{sent: tooDear}, 0.02, probes.ProfileFull, nil, map[abi.Unit]retirement{sent: tooDear}},
		"another budget":               {map[abi.Unit]retirement{sent: tooDear}, 0.5, probes.ProfileFull, []abi.Unit{sent}, map[abi.Unit]retirement{sent: tooDear}},
		"no budget, a smaller profile": {map[abi.Unit]retirement{sent: tooDear, wait: tooDear}, 0, probes.ProfileStandard, []abi.Unit{sent}, map[abi.Unit]retirement{sent: tooDear, wait: byProfile("standard")}},
		"a larger profile":             {map[abi.Unit]retirement{sent: byProfile("minimal"), wait: byProfile("minimal")}, 0.02, probes.ProfileStandard, []abi.Unit{sent}, map[abi.Unit]retirement{sent: byProfile("minimal"), wait: byProfile("standard")}},
		"the smallest profile":         {nil, 0.02, probes.ProfileMinimal, nil, map[abi.Unit]retirement{sent: byProfile("minimal"), wait: byProfile("minimal")}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newTestAttacher(Options{MaxOverhead: 0.02, Driven: true})
			maps.Copy(a.budget.retired, test.retired)
			if wanted := a.Change(test.limit, test.profile); !slices.Equal(wanted, test.wanted) {
				t.Errorf("%v are wanted, not %v", wanted, test.wanted)
			}
			for _, unit := range []abi.Unit{wait, sent} {
				if why := a.budget.retired[unit]; why != test.left[unit] {
					t.Errorf("%s is retired: %+v, not %+v", unit, why, test.left[unit])
				}
			}
			a.BeginReinstating(test.wanted)
			if err := a.EndReinstating(); err != nil {
				t.Fatal(err)
			}
			for _, unit := range test.wanted {
				if why, retired := a.budget.retired[unit]; retired {
					t.Errorf("%s is still retired: %+v", unit, why)
				}
			}
		})
	}
}
