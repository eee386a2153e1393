package session

import (
	"context"
	"fmt"
	"iter"

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
	plan, err := s.planner.Plan(ctx, p)
	return planning{plan, err}
}

// planEach plans the sites of processes while the kernel side is loaded, which takes about as long for a process of
// many libraries. The processes must not be used until the channel gives them back, which is soon after ctx has ended.
func (s *Session) planEach(ctx context.Context, found []*target.Process) <-chan []plannedProcess {
	plans := make(chan []plannedProcess, 1)
	go func() {
		planned := make([]plannedProcess, len(found))
		for i, p := range found {
			planned[i] = plannedProcess{p, planning{err: ctx.Err()}}
		}
		for i := range s.fairly(found) {
			planned[i].first = planning{err: ctx.Err()}
			if ctx.Err() == nil {
				planned[i].first = s.plan(ctx, planned[i].Process)
			}
		}
		plans <- planned
	}()
	return plans
}

// fairly yields the places in a list of processes, each time one of the user for whom least has been done: whoever has
// many does not have the others wait for all of them.
func (s *Session) fairly(found []*target.Process) iter.Seq[int] {
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
		for len(users) > 0 {
			at := s.finder.Quota().Least(users)
			of := places[users[at]]
			if places[users[at]] = of[1:]; len(of) == 1 {
				users = append(users[:at:at], users[at+1:]...)
			}
			if !yield(of[0]) {
				return
			}
		}
	}
}

// newArmingTurns are the turns in which processes that were found are attached to.
func newArmingTurns(found []plannedProcess) turns {
	users := map[uint32]bool{}
	for _, p := range found {
		users[p.Account().User()] = true
	}
	turns := newTurns(armTime)
	turns.users = max(1, len(users))
	return turns
}

// postponeArming has a process looked at when the recording has begun, as one that begins later.
func (s *Session) postponeArming(p *target.Process, turns *turns) {
	user := p.Account().User()
	if turns.postpone(p.PID, user) {
		s.warn(fmt.Errorf("attaching to the processes of user %d takes long: the recording begins without some of them", user))
	}
	s.askToLook(p.PID)
	_ = p.Close()
}
