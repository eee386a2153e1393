package target

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/caret-bpf/caret-bpf/quota"
)

// ErrNotShown: the kernel did not show what it knows of the process. To tell of a process's memory map it waits for the
// lock of the map, which a process can keep: by a page that a program answers for (FUSE), and that does not come.
var ErrNotShown = errors.New("the kernel does not show it: the process keeps its memory map locked")

// showPatience is how long the kernel is waited for. While a process of many gigabytes forks, its map is locked for
// seconds.
const showPatience = 5 * time.Second

// unshown are the processes for which goroutines wait that nobody waits for any more.
type unshown struct {
	mutex sync.Mutex
	pids  map[int32]bool
}

// patiently asks the kernel something about a process for which it may wait for the process's memory map. Who waits can
// be killed, so a goroutine of this program does. ErrNotShown when there is no answer in time; an answer that comes
// later is given to discard. Until then nothing more is asked about the process. Its user pays for what waits.
func patiently[T any](f *Finder, pid int32, ask func() (T, error), discard func(T)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	account, err := f.mayAsk(pid)
	if err != nil {
		return none, err
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := ask()
		answers <- answer{value, err}
	}()
	timeout := time.NewTimer(showPatience)
	defer timeout.Stop()
	select {
	case a := <-answers:
		account.Give(quota.Delegates, 1)
		return a.value, a.err
	case <-timeout.C:
	}
	if account == nil {
		account = f.payForWaiting(pid)
	}
	f.unshown.add(pid)
	go func() {
		a := <-answers
		f.unshown.remove(pid)
		account.Give(quota.Delegates, 1)
		if a.err == nil {
			discard(a.value)
		}
	}()
	return none, fmt.Errorf("%w (for more than %v)", ErrNotShown, showPatience)
}

// mayAsk returns who pays if there is no answer: nil, which is decided then, as long as nothing waits.
func (f *Finder) mayAsk(pid int32) (*quota.Account, error) {
	known, some := f.unshown.has(pid)
	switch {
	case known:
		return nil, ErrNotShown
	case !some:
		return nil, nil
	}
	user, err := f.payer(pid)
	if err != nil {
		return nil, err
	}
	account := f.quota.Of(user)
	if err := account.Take(quota.Delegates, 1); err != nil {
		return nil, fmt.Errorf("%w, as do others of its user: %w", ErrNotShown, err)
	}
	return account, nil
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

func (u *unshown) has(pid int32) (known, some bool) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.pids[pid], len(u.pids) > 0
}

func (u *unshown) add(pid int32) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.pids == nil {
		u.pids = map[int32]bool{}
	}
	u.pids[pid] = true
}

func (u *unshown) remove(pid int32) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.pids, pid)
}
