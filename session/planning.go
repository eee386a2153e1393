package session

import (
	"context"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
)

// planning is what came of planning the sites of a process.
type planning struct {
	plan *probes.Plan
	err  error
}

// plannedProcess is a process with the plan that was made when it was found.
type plannedProcess struct {
	*target.Process
	first planning
}

func (s *Session) plan(ctx context.Context, p *target.Process) planning {
	plan, err := probes.NewPlan(ctx, p, s.planOptions())
	return planning{plan, err}
}

// planEach plans the sites of processes while the kernel side is loaded, which takes about as long for a process of many libraries. The processes
// must not be used until the channel gives them back, which is soon after ctx has ended.
func (s *Session) planEach(ctx context.Context, found []*target.Process) <-chan []plannedProcess {
	plans := make(chan []plannedProcess, 1)
	go func() {
		planned := make([]plannedProcess, len(found))
		for i, p := range found {
			planned[i] = plannedProcess{p, planning{err: ctx.Err()}}
			if ctx.Err() == nil {
				planned[i].first = s.plan(ctx, p)
			}
		}
		plans <- planned
	}()
	return plans
}
