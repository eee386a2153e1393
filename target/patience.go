package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/quota"
)

// ErrNotShown: the kernel did not show what it knows of the process. To tell of a process's memory map it waits for the
// lock of the map, which a process can keep: by a page that a program answers for (FUSE), and that does not come.
var ErrNotShown = errors.New("the kernel does not show it: the process keeps its memory map locked")

// showPatience is how long the kernel is waited for. While a process of many gigabytes forks, its map is locked for
// seconds.
const (
	showPatience = 5 * time.Second
	// furtherPatience is that for processes of a user who has some already that are not shown.
	furtherPatience = 100 * time.Millisecond
)

// unshown are the processes for which goroutines wait that nobody waits for any more.
type unshown struct {
	mutex sync.Mutex
	pids  map[int32]uint32 // and who pays for them
}

// patiently asks the kernel something about a process for which it may wait for the process's memory map. Who waits can
// be killed, so a goroutine of this program does. ErrNotShown when there is no answer in time, ctx's error when that
// ends; an answer that comes later is given to discard. Until then nothing more is asked about the process. Its user
// pays for what waits.
func patiently[T any](ctx context.Context, f *Finder, pid int32, ask func() (T, error), discard func(T)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	account, patience, err := f.mayAsk(pid)
	if err != nil {
		return none, err
	}
	begin := time.Now()
	answers := make(chan answer, 1)
	go func() {
		value, err := ask()
		answers <- answer{value, err}
	}()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case a := <-answers:
		account.Give(quota.Delegates, 1)
		f.spend(account, pid, time.Since(begin))
		return a.value, a.err
	case <-timeout.C:
		err = fmt.Errorf("%w (for more than %v)", ErrNotShown, patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if account == nil {
		account = f.payForWaiting(pid)
	}
	f.spend(account, pid, time.Since(begin))
	f.unshown.add(pid, account.User())
	go func() {
		a := <-answers
		f.unshown.remove(pid)
		account.Give(quota.Delegates, 1)
		if a.err == nil {
			discard(a.value)
		}
	}()
	return none, err
}

// spend has the user of a process pay for the time that it was waited for. The account may not be known yet.
func (f *Finder) spend(account *quota.Account, pid int32, waited time.Duration) {
	if account == nil && waited >= furtherPatience {
		if user, err := f.payer(pid); err == nil {
			account = f.quota.Of(user)
		}
	}
	account.Spend(quota.Waiting, waited.Milliseconds())
}

// mayAsk returns who pays if there is no answer (nil, which is decided then, as long as nothing waits), and how long it
// is waited for.
func (f *Finder) mayAsk(pid int32) (*quota.Account, time.Duration, error) {
	known, users := f.unshown.has(pid)
	switch {
	case known:
		return nil, 0, ErrNotShown
	case len(users) == 0:
		return nil, showPatience, nil
	}
	user, err := f.payer(pid)
	if err != nil {
		return nil, 0, err
	}
	account := f.quota.Of(user)
	if err := account.Take(quota.Delegates, 1); err != nil {
		return nil, 0, fmt.Errorf("%w, as do others of its user: %w", ErrNotShown, err)
	}
	if slices.Contains(users, user) {
		return account, furtherPatience, nil
	}
	return account, showPatience, nil
}

// payForWaiting is for the first one that waits, which there is always room for.
func (f *Finder) payForWaiting(pid int32) *quota.Account {
	user, err := f.payer(pid)
	if err != nil {
		return nil
	}
	account := f.quota.Of(user)
	if account.Take(quota.Delegates, 1) != nil {
		return nil
	}
	return account
}

// has reports whether a process is one of them, and of which users there are any.
func (u *unshown) has(pid int32) (known bool, users []uint32) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if len(u.pids) == 0 {
		return false, nil
	}
	_, known = u.pids[pid]
	return known, slices.Collect(maps.Values(u.pids))
}

func (u *unshown) add(pid int32, user uint32) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.pids == nil {
		u.pids = map[int32]uint32{}
	}
	u.pids[pid] = user
}

func (u *unshown) remove(pid int32) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.pids, pid)
}
