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

// AreSharedLinksCheaper compares what two kinds of links cost a machine on which all processes have as many hits. For
// links for every process, others that are not recorded pay as well. Each link of a single process adds to every hit of
// all recorded processes.
func AreSharedLinksCheaper(recorded, others int, costs *probes.Costs) bool {
	if costs == nil {
		costs = probes.DefaultCosts()
	}
	own := time.Duration(recorded) * time.Duration(recorded-1) * consumerCost
	shared := time.Duration(recorded)*lookupCost + time.Duration(others)*costs.Usual()
	return shared < own
}
