package session

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// armTime is how long the processes of all users together may keep a recording from beginning, where there are several.
const armTime = 30 * time.Second

// roundTime is how long looking at processes may take from one tick to the next, where there are those of several
// users.
const roundTime = 4 * tickInterval

// turns share the time for looking at processes among their users. Memory maps can be long, and there can be thousands
// of them: without turns, processes of others would be noticed late.
type turns struct {
	round time.Duration
	spent map[uint32]time.Duration // in this round
	// users is how many had processes to be looked at in the last round.
	users int
	// late are processes that were asked for when the time of their user was over.
	late map[int32]bool
	told map[uint32]bool
	// refused are processes for which there was no room. They are asked for again in every round.
	refused map[int32]bool
}

func newTurns(round time.Duration) turns {
	return turns{round: round, spent: map[uint32]time.Duration{}, users: 1, late: map[int32]bool{}, told: map[uint32]bool{}, refused: map[int32]bool{}}
}

// has reports whether a user has time left in this round. Who is alone always has.
func (t *turns) has(user uint32) bool {
	users := max(t.users, len(t.spent))
	return users == 1 || t.spent[user] < t.round/time.Duration(users)
}

// spend notes what a user's process has taken.
func (t *turns) spend(user uint32, took time.Duration) { t.spent[user] += took }

// postpone puts a process off to the next round. It returns whether the user has to be told, which is once.
func (t *turns) postpone(pid int32, user uint32) bool {
	t.late[pid] = true
	tell := !t.told[user]
	t.told[user] = true
	return tell
}

// refuse notes that there is no room for a process now. It returns whether that is news.
func (t *turns) refuse(pid int32) bool {
	known := t.refused[pid]
	t.refused[pid] = true
	return !known
}

// settle notes that a process is recorded, or over.
func (t *turns) settle(pid int32) { delete(t.refused, pid) }

// next begins a round. It returns the processes that are late, and those for which there was no room.
func (t *turns) next() []int32 {
	maps.Copy(t.late, t.refused)
	late := slices.Sorted(maps.Keys(t.late))
	t.users = max(1, len(t.spent))
	clear(t.spent)
	clear(t.late)
	return late
}

// shares divides what is left of a time among users, those with the fewest processes first: what one leaves, the next
// ones get.
type shares struct {
	end   time.Time
	users [][]*process
}

func newShares(end time.Time, entries []*process) *shares {
	byUser := map[uint32][]*process{}
	for _, entry := range entries {
		byUser[entry.payer] = append(byUser[entry.payer], entry)
	}
	return &shares{end, slices.SortedFunc(maps.Values(byUser), func(a, b []*process) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a[0].payer, b[0].payer))
	})}
}

// next returns the processes of the next user, and until when they have time at the latest. False when there are no
// more.
func (s *shares) next(now time.Time) (entries []*process, until time.Time, ok bool) {
	if len(s.users) == 0 {
		return nil, time.Time{}, false
	}
	until = now.Add(max(0, s.end.Sub(now)) / time.Duration(len(s.users)))
	entries, s.users = s.users[0], s.users[1:]
	return entries, until, true
}
