package attaching

import (
	"context"

	"github.com/caret-bpf/caret-bpf/probes"
)

// Prepare attaches, for every process, what is planned for one that stands for those to come: it will never map
// anything itself. What may not be probed for every process is left out. It returns how many sites were attached that
// were not before.
func (a *Attacher) Prepare(ctx context.Context, p *Process, plan *probes.Plan) (attached int, err error) {
	sites, _ := a.separateBodies(plan.Sites)
	for _, group := range a.groupSites(ctx, p, sites) {
		if group.pid != 0 {
			continue
		}
		count, err := a.attachGroup(ctx, p, group)
		if err != nil {
			return attached, err
		}
		attached += count
	}
	return attached, nil
}
