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
	own, shared := linkCosts(recorded, others, costs)
	return shared < own
}

// IsChangeWorth reports whether links of the other kind than a recording has are cheaper by so much that it may pay to
// replace all links.
func IsChangeWorth(isShared bool, recorded, others int, costs *probes.Costs) bool {
	current, other := linkCosts(recorded, others, costs)
	if isShared {
		current, other = other, current
	}
	return recorded > 0 && other+other/4 < current
}

// linkCosts are what links of single processes, and such for every process, cost all processes together when each has
// one hit.
func linkCosts(recorded, others int, costs *probes.Costs) (own, shared time.Duration) {
	if costs == nil {
		costs = probes.DefaultCosts()
	}
	own = time.Duration(recorded) * time.Duration(recorded-1) * consumerCost
	shared = time.Duration(recorded)*lookupCost + time.Duration(others)*costs.Usual()
	return own, shared
}
