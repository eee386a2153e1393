package oracle

import (
	"slices"
	"testing"

	"github.com/caret-bpf/caret-bpf/test/groundtruth"
)

// Phase is a time, on the ground truth's clock, in which a recording had certain settings.
type Phase struct {
	From, To uint64
	// Drops says of which nodes there are no callbacks; nil: of all there are.
	Drops func(node string) bool
}

// RequirePhases requires that exactly the callbacks that lie in a phase and are not dropped are there.
func RequirePhases(t *testing.T, data *Dataset, truth *Truth, phases []Phase) {
	t.Helper()
	nodes := map[uint64]string{}
	starts := map[int32][]uint64{} // in order, by thread
	for _, row := range data.Callbacks {
		nodes[uint64(row.Callback)] = row.NodeName
		starts[row.TID] = append(starts[row.TID], uint64(row.CallbackStartTimestamp.Value-data.Session.Clock.RealtimeOffset))
	}
	for _, all := range starts {
		slices.Sort(all)
	}
	isThere := func(c groundtruth.Callback) bool {
		all := starts[int32(c.TID)]
		at, _ := slices.BinarySearch(all, c.Start.Before)
		return at < len(all) && c.Start.Contains(all[at])
	}
	for i, p := range phases {
		kept, dropped := 0, 0
		for _, c := range truth.Callbacks {
			if c.Start.Before < p.From || c.End.After > p.To || !c.End.Happened() {
				continue
			}
			drop := p.Drops != nil && p.Drops(nodes[c.Callback])
			if isThere(c) == drop {
				t.Fatalf("phase %d: thread %d, %d: a callback of %s is there: %v", i, c.TID, c.Start.Before, nodes[c.Callback], !drop)
			}
			if drop {
				dropped++
			} else {
				kept++
			}
		}
		t.Logf("phase %d: %d callbacks, %d left out", i, kept, dropped)
		if kept+dropped == 0 || (dropped == 0) != (p.Drops == nil) {
			t.Errorf("phase %d shows nothing", i)
		}
	}
}
