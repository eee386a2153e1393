package session

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

// planning is what came of planning the sites of a process.
type planning struct {
	plan *probes.Plan
	err  error
}

// plannedProcess is a process with the plan that was made when it was found. Until it is ready, nobody else may use the
// process.
type plannedProcess struct {
	*target.Process
	ready chan struct{} // closed when first is there
	first planning
}

// await returns when the process is ready.
func (p *plannedProcess) await() { <-p.ready }

// planner plans the sites of processes. Its methods may be called from several goroutines.
type planner struct {
	sites *attaching.Planner
	quota *quota.Quota
	// systemWide says that a recording need not wait for all plans.
	systemWide bool
}

func newPlanner(c *compiled, options Options, links trace.Links, quota *quota.Quota) *planner {
	return &planner{attaching.NewPlanner(c.attaching(options, links)), quota, c.systemWide()}
}

func (p *planner) plan(ctx context.Context, of *target.Process) planning {
	plan, err := p.sites.Plan(ctx, of)
	return planning{plan, err}
}

// errPlannedLate: planning the processes of a user takes long, and others wait.
var errPlannedLate = errors.New("not planned before the recording begins")

// each plans the sites of processes while the kernel side is loaded, which takes about as long for a process of many
// libraries, and while the first of them are attached to. All are ready soon after ctx has ended.
func (p *planner) each(ctx context.Context, found []*target.Process) []*plannedProcess {
	planned := make([]*plannedProcess, len(found))
	for i, process := range found {
		planned[i] = &plannedProcess{Process: process, ready: make(chan struct{})}
	}
	turns := newArmingTurns(planned)
	go func() {
		for i := range fairly(p.quota, found) {
			user := planned[i].Account().User()
			switch {
			case ctx.Err() != nil:
				planned[i].first = planning{err: ctx.Err()}
			case p.systemWide && !turns.has(user):
				planned[i].first = planning{err: errPlannedLate}
			default:
				begin := time.Now()
				planned[i].first = p.plan(ctx, planned[i].Process)
				turns.spend(user, time.Since(begin))
			}
			close(planned[i].ready)
		}
	}()
	return planned
}

// fairness is what one user may have been waited for longer than another, and go first for other reasons.
const fairness = 100 * time.Millisecond

// fairly yields the places in a list of processes, each time one of the user for whom least has been done: whoever has
// many does not have the others wait for all of them. Nothing is done while a file system is waited for, so first comes
// who has been waited for least.
func fairly(quota *quota.Quota, found []*target.Process) iter.Seq[int] {
	return func(yield func(int) bool) {
		places := map[uint32][]int{}
		var users []uint32
		for i, p := range found {
			user := p.Account().User()
			if places[user] == nil {
				users = append(users, user)
			}
			places[user] = append(places[user], i)
		}
		waited := map[uint32]time.Duration{}
		for len(users) > 0 {
			least := waited[slices.MinFunc(users, func(a, b uint32) int { return cmp.Compare(waited[a], waited[b]) })]
			first := slices.DeleteFunc(slices.Clone(users), func(user uint32) bool { return waited[user] > least+fairness })
			user := first[quota.Least(first)]
			of := places[user]
			if places[user] = of[1:]; len(of) == 1 {
				users = slices.DeleteFunc(users, func(other uint32) bool { return other == user })
			}
			begin := time.Now()
			if !yield(of[0]) {
				return
			}
			waited[user] += time.Since(begin)
		}
	}
}
