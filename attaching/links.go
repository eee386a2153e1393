package attaching

import (
	"time"

	"github.com/caret-bpf/caret-bpf/probes"
)

const (
	// consumerCost is what each further process that has links of its own adds to a hit: the kernel asks all who have a
	// probe at an address whether they want the hit (Linux 6.18).
	consumerCost = 35 * time.Nanosecond
	// lookupCost is what the kernel side takes to find out whether a process is recorded.
	lookupCost = 30 * time.Nanosecond
)

// AreSharedLinksCheaper tells what costs a machine less on which all processes have as many hits: links for every
// process, which others that are not recorded pay for as well, or links of single processes, each of which makes the
// hits of all dearer.
func AreSharedLinksCheaper(recorded, others int, costs *probes.Costs) bool {
	if costs == nil {
		costs = probes.DefaultCosts()
	}
	own := time.Duration(recorded) * time.Duration(recorded-1) * consumerCost
	shared := time.Duration(recorded)*lookupCost + time.Duration(others)*costs.Usual()
	return shared < own
}
