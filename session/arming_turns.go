package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/target"
)

// newArmingTurns are the turns in which processes that were found are attached to.
func newArmingTurns(found []*plannedProcess) turns {
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
func (f *follower) postponeArming(p *target.Process, turns *turns) {
	user := p.Account().User()
	if turns.postpone(p.PID, user) {
		f.journal.warn(fmt.Errorf("attaching to the processes of user %d takes long: the recording begins without some of them", user))
	}
	f.looks.ask(p.PID, canWait)
	_ = p.Close()
}

// attachMeanwhile attaches what processes have mapped since they were planned, their users taking turns. What they map
// from then on is announced: the gate is open for that.
func (f *follower) attachMeanwhile(ctx context.Context) {
	entries := slices.DeleteFunc(f.processes.all(), func(entry *process) bool { return !entry.recorded || entry.target == nil })
	users := map[uint32]bool{}
	for _, entry := range entries {
		users[entry.payer] = true
	}
	turns := newArmingTurnsOf(users)
	for _, entry := range entries {
		if ctx.Err() != nil {
			return
		}
		if f.configuration.systemWide() && !turns.has(entry.payer) {
			f.looks.ask(entry.row.PID, canWait)
			continue
		}
		begin := time.Now()
		err := f.refresh(ctx, entry)
		turns.spend(entry.payer, time.Since(begin))
		if ctx.Err() == nil && !errors.Is(err, target.ErrNoProcess) && !errors.Is(err, loader.ErrProcessGone) {
			f.journal.warn(err)
		}
		if err == nil && !entry.hasJustBegun() {
			entry.looks = youngLooks
		}
	}
}
