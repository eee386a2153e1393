package target

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/caret-bpf/caret-bpf/quota"
)

const (
	// lookTurn is how long the processes of one user are looked at before those of others have had their turn. The kernel
	// may take long to show what one of them has mapped.
	lookTurn = time.Second
	// lookTime is how long those who have had their turn are looked at then, all together.
	lookTime = 30 * time.Second
)

// inTurns yields processes, and whether there is time to look at them: those of each user for a while, and then those
// of the users who have taken least. Whoever is alone has time without end.
func (f *Finder) inTurns(pids []int32) iter.Seq2[int32, bool] {
	return func(yield func(int32, bool) bool) {
		spent := map[uint32]time.Duration{}
		late := map[uint32][]int32{}
		look := func(pid int32, user uint32) bool {
			begin := time.Now()
			defer func() { spent[user] += time.Since(begin) }()
			return yield(pid, true)
		}
		for _, pid := range pids {
			user, err := f.payer(pid)
			if err != nil {
				user = 0 // it is gone, or hidden: there is nothing to look at
			}
			if spent[user] >= lookTurn {
				late[user] = append(late[user], pid)
			} else if !look(pid, user) {
				return
			}
		}
		end := time.Now().Add(lookTime)
		for len(late) > 0 {
			user := leastSpent(late, spent)
			pid := late[user][0]
			if late[user] = late[user][1:]; len(late[user]) == 0 {
				delete(late, user)
			}
			if time.Now().After(end) && othersWait(user, spent) {
				if !yield(pid, false) {
					return
				}
			} else if !look(pid, user) {
				return
			}
		}
	}
}

// othersWait reports whether anybody else has processes that take time to be looked at.
func othersWait(user uint32, spent map[uint32]time.Duration) bool {
	for other, took := range spent {
		if other != user && took > lookTurn/10 {
			return true
		}
	}
	return false
}

func leastSpent(late map[uint32][]int32, spent map[uint32]time.Duration) uint32 {
	users := make([]uint32, 0, len(late))
	for user := range late {
		users = append(users, user)
	}
	return slices.MinFunc(users, func(a, b uint32) int { return cmp.Or(cmp.Compare(spent[a], spent[b]), cmp.Compare(a, b)) })
}

// search is what came of looking for processes.
type search struct {
	processes                 []*Process
	denied, leftOut           int
	firstDenial, firstLeftOut error
}

func (s *search) note(f *Finder, pid int32, err error) {
	switch {
	case errors.Is(err, quota.ErrUsedUp), errors.Is(err, ErrTooLong), errors.Is(err, ErrNotShown):
		s.leaveOut(err)
	case errors.Is(err, ErrPermission), errors.Is(err, ErrForeignNamespace):
		if f.runsProgram(pid) {
			s.denied++
			s.firstDenial = cmp.Or(s.firstDenial, err)
		}
	}
}

func (s *search) leaveOut(err error) {
	s.leftOut++
	s.firstLeftOut = cmp.Or(s.firstLeftOut, err)
}

// told is what the user has to know.
func (s *search) told() error {
	var told []error
	if s.denied > 0 {
		told = append(told, fmt.Errorf("processes that could not be looked into: %d, the first: %w", s.denied, s.firstDenial))
	}
	if s.leftOut > 0 {
		told = append(told, fmt.Errorf("processes that are not recorded: %d, the first: %w", s.leftOut, s.firstLeftOut))
	}
	return errors.Join(told...)
}
