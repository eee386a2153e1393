package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
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

// errPlannedLate: planning the processes of a user takes long, and others wait.
var errPlannedLate = errors.New("not planned before the recording begins")

// planEach plans the sites of processes while the kernel side is loaded, which takes about as long for a process of
// many libraries. The processes must not be used until the channel gives them back, which is soon after ctx has ended.
func (s *Session) planEach(ctx context.Context, found []*target.Process) <-chan []plannedProcess {
	plans := make(chan []plannedProcess, 1)
	go func() {
		planned := make([]plannedProcess, len(found))
		for i, p := range found {
			planned[i] = plannedProcess{p, planning{err: ctx.Err()}}
		}
		turns := newArmingTurns(planned)
		for i := range s.fairly(found) {
			user := planned[i].Account().User()
			switch {
			case ctx.Err() != nil:
				planned[i].first = planning{err: ctx.Err()}
			case s.configuration.systemWide() && !turns.has(user):
				planned[i].first = planning{err: errPlannedLate}
			default:
				begin := time.Now()
				planned[i].first = s.plan(ctx, planned[i].Process)
				turns.spend(user, time.Since(begin))
			}
		}
		plans <- planned
	}()
	return plans
}

// fairness is what one user may have been waited for longer than another, and go first for other reasons.
const fairness = 100 * time.Millisecond

// fairly yields the places in a list of processes, each time one of the user for whom least has been done: whoever has
// many does not have the others wait for all of them. Nothing is done while a file system is waited for, so first comes
// who has been waited for least.
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
		waited := map[uint32]time.Duration{}
		for len(users) > 0 {
			least := waited[slices.MinFunc(users, func(a, b uint32) int { return cmp.Compare(waited[a], waited[b]) })]
			first := slices.DeleteFunc(slices.Clone(users), func(user uint32) bool { return waited[user] > least+fairness })
			user := first[s.finder.Quota().Least(first)]
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

// newArmingTurns are the turns in which processes that were found are attached to.
func newArmingTurns(found []plannedProcess) turns {
	users := map[uint32]bool{}
	for _, p := range found {
		users[p.Account().User()] = true
	}
	return newArmingTurnsOf(users)
}

func newArmingTurnsOf(users map[uint32]bool) turns {
	turns := newTurns(armTime)
	turns.users = max(1, len(users))
	return turns
}

// postponeArming has a process looked at when the recording has begun, as one that begins later.
func (s *Session) postponeArming(p *target.Process, turns *turns) {
	user := p.Account().User()
	if turns.postpone(p.PID, user) {
		s.journal.warn(fmt.Errorf("attaching to the processes of user %d takes long: the recording begins without some of them", user))
	}
	s.looks.ask(p.PID, canWait)
	_ = p.Close()
}

// attachMeanwhile attaches what processes have mapped since they were planned, their users taking turns. What they map
// from then on is announced: the gate is open for that.
func (s *Session) attachMeanwhile(ctx context.Context) {
	entries := slices.DeleteFunc(s.processes.all(), func(entry *process) bool { return !entry.recorded || entry.target == nil })
	users := map[uint32]bool{}
	for _, entry := range entries {
		users[entry.payer] = true
	}
	turns := newArmingTurnsOf(users)
	for _, entry := range entries {
		if ctx.Err() != nil {
			return
		}
		if s.configuration.systemWide() && !turns.has(entry.payer) {
			s.looks.ask(entry.row.PID, canWait)
			continue
		}
		begin := time.Now()
		err := s.refresh(ctx, entry)
		turns.spend(entry.payer, time.Since(begin))
		if ctx.Err() == nil && !errors.Is(err, target.ErrNoProcess) && !errors.Is(err, loader.ErrProcessGone) {
			s.journal.warn(err)
		}
	}
}
