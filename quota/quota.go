// Package quota shares what one run of the program may use among the users whose processes it looks at. Whoever has
// many processes, or files that are costly to read, leaves the others what they need.
package quota

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Kind is something of which there is only so much.
type Kind int

const (
	// Work is bytes that are read or walked through. What was used is forgotten with time, because work is over when it is
	// done.
	Work Kind = iota
	// Memory is bytes that are kept of files while these are looked at, and until they are collected then.
	Memory
	// Files are those that are kept open.
	Files
	// Processes are those that are followed.
	Processes
	// Probes are sites of single processes.
	Probes
	// Entities are places in memory at which something of ROS 2 lives or lived.
	Entities
	// Delegates are threads that read the files that processes name, and may hang.
	Delegates
	// Waiting is the time, in milliseconds, in which files that processes name are read. It is forgotten as work is.
	Waiting
	// Ignored are addresses of what a filter leaves out, which the kernel side knows.
	Ignored
	// Headers are publishers and subscriptions in whose messages the kernel side reads header.stamp.
	Headers

	kinds
)

// names complete "the share of user N in …".
var names = [kinds]string{"the work on files", "the memory for files", "open files", "processes", "probes of single processes", "entities", "threads that read files", "the time for reading files",
	"addresses that are filtered out", "publishers and subscriptions with message_timestamp"}

// ErrUsedUp says that a user has used his share.
var ErrUsedUp = errors.New("left out, so that there is enough for other users")

// Totals are what there is of each kind for all users together.
type Totals [kinds]int64

// Quota is shared by all parts of the program that ask for what it bounds. It is safe for concurrent use.
//
// A user gets no more than what is left for all others then: alone he gets half of all, and whatever n others do, each
// of them by any number of processes, he gets what he asks for up to one part in 2^(n+1).
type Quota struct {
	totals  Totals
	now     func() time.Time
	collect func() // has garbage collected

	collecting sync.Mutex // of who collects
	spares     map[*spare]struct{}

	mutex   sync.Mutex
	used    Totals
	users   map[uint32]*usage
	drained time.Time
}

// usage is what one user uses.
type usage struct {
	used    Totals
	refused [kinds]uint64
	// garbage is memory that is used as long as it was not collected.
	garbage int64
}

// drainTime is how long it takes until all work that there can be is forgotten.
const drainTime = 10 * time.Minute

// New returns a quota of which nothing is used.
func New(totals Totals) *Quota { return newAt(totals, time.Now) }

func newAt(totals Totals, now func() time.Time) *Quota {
	return &Quota{totals: totals, now: now, collect: runtime.GC, users: map[uint32]*usage{}, spares: map[*spare]struct{}{}, drained: now()}
}

// take uses an amount for a user, or returns ErrUsedUp. Nobody is refused memory because of what is no longer kept, or
// need not be: it is collected before.
func (q *Quota) take(user uint32, kind Kind, amount int64) error {
	if q.fits(user, kind, amount) {
		return nil
	}
	if kind == Memory {
		q.collecting.Lock()
		defer q.collecting.Unlock()
		if q.fits(user, kind, amount) { // somebody else has collected meanwhile
			return nil
		}
		q.letGo(user)
		if q.giveGarbage() && q.fits(user, kind, amount) {
			return nil
		}
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.of(user).refused[kind]++
	return fmt.Errorf("%w: the share of user %d in %s is used up", ErrUsedUp, user, names[kind])
}

// fits uses an amount for a user, unless it is more than his share.
func (q *Quota) fits(user uint32, kind Kind, amount int64) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if kind == Work || kind == Waiting {
		q.drain()
	}
	of := q.of(user)
	if left := q.totals[kind] - q.used[kind]; amount > left || of.used[kind] > left-2*amount {
		return false
	}
	of.used[kind] += amount
	q.used[kind] += amount
	return true
}

// of returns what a user uses.
func (q *Quota) of(user uint32) *usage {
	of := q.users[user]
	if of == nil {
		of = new(usage)
		q.users[user] = of
	}
	return of
}

// discard takes back memory that is no longer kept, when it is collected.
func (q *Quota) discard(user uint32, amount int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.of(user).garbage += amount
}

// spare is memory that a user's work need not keep.
type spare struct {
	user  uint32
	letGo func()
}

// letGo has everything discarded that a user's work need not keep.
func (q *Quota) letGo(user uint32) {
	q.mutex.Lock()
	var spares []*spare
	for s := range q.spares {
		if s.user == user {
			spares = append(spares, s)
		}
	}
	q.mutex.Unlock()
	for _, s := range spares {
		s.letGo()
	}
}

// giveGarbage has garbage collected, and takes back what was discarded before. False where nothing was.
func (q *Quota) giveGarbage() bool {
	q.mutex.Lock()
	garbage := map[*usage]int64{}
	for _, of := range q.users {
		if of.garbage > 0 {
			garbage[of] = of.garbage
		}
	}
	q.mutex.Unlock()
	if len(garbage) == 0 {
		return false
	}
	q.collect()
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for of, amount := range garbage {
		of.garbage -= amount
		of.used[Memory] -= amount
		q.used[Memory] -= amount
	}
	return true
}

// spend uses an amount that is used already, as far as there is any left.
func (q *Quota) spend(user uint32, kind Kind, amount int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	of := q.of(user)
	amount = max(0, min(amount, q.totals[kind]-q.used[kind]-of.used[kind])) // it leaves others what take leaves them
	of.used[kind] += amount
	q.used[kind] += amount
}

// give takes back what was used.
func (q *Quota) give(user uint32, kind Kind, amount int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	of := q.users[user]
	if of == nil {
		return // who has taken nothing has nothing to give
	}
	of.used[kind] -= amount
	q.used[kind] -= amount
}

// drain forgets work that was done a while ago.
func (q *Quota) drain() {
	now := q.now()
	passed := now.Sub(q.drained)
	if passed < time.Second {
		return
	}
	q.drained = now
	for _, kind := range []Kind{Work, Waiting} {
		forgotten := q.totals[kind]
		if passed < drainTime {
			forgotten = int64(float64(forgotten) * float64(passed) / float64(drainTime))
		}
		for _, of := range q.users {
			less := min(of.used[kind], forgotten)
			of.used[kind] -= less
			q.used[kind] -= less
		}
	}
}

// Of returns the account of a user.
func (q *Quota) Of(user uint32) *Account { return &Account{q, user} }

// Least returns the place of that user in a list who has been worked for least: whose turn it is.
func (q *Quota) Least(users []uint32) int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	least, at := int64(0), -1
	for i, user := range users {
		work := int64(0)
		if of := q.users[user]; of != nil {
			work = of.used[Work]
		}
		if at < 0 || work < least {
			least, at = work, i
		}
	}
	return at
}

// Refusal says how often a user was refused something.
type Refusal struct {
	User  uint32
	Kind  Kind
	Count uint64
}

// String is a line for people.
func (r Refusal) String() string {
	return fmt.Sprintf("user %d was refused more of %s %d times", r.User, names[r.Kind], r.Count)
}

// Refusals lists what was refused, by user.
func (q *Quota) Refusals() []Refusal {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	var refusals []Refusal
	for user, of := range q.users {
		for kind, count := range of.refused {
			if count > 0 {
				refusals = append(refusals, Refusal{user, Kind(kind), count})
			}
		}
	}
	slices.SortFunc(refusals, func(a, b Refusal) int {
		if a.User != b.User {
			return int(int64(a.User) - int64(b.User))
		}
		return int(a.Kind - b.Kind)
	})
	return refusals
}
