package session

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/quota"
)

// ignored are the addresses that the kernel side drops, because the filter has decided so. It is used with the merger
// locked.
type ignored struct {
	// Set once.
	loader    *loader.Loader
	quota     *quota.Quota
	processes *processes
	journal   *journal

	holders map[int32]*ignoredHolder // by PID
}

// ignoredHolder is who pays for the addresses of a process, and for how many.
type ignoredHolder struct {
	account *quota.Account
	held    int64
}

func newIgnored(l *loader.Loader, q *quota.Quota, processes *processes, journal *journal) *ignored {
	return &ignored{loader: l, quota: q, processes: processes, journal: journal, holders: map[int32]*ignoredHolder{}}
}

// decide tells the kernel what the filter has decided. It returns whether there is room.
func (i *ignored) decide(pid int32, address uint64, drop bool) bool {
	holder := i.holders[pid]
	if !drop {
		i.journal.warn(i.loader.Unignore(pid, address))
		holder.account.Give(quota.Ignored, 1)
		if holder.held--; holder.held == 0 {
			delete(i.holders, pid)
		}
		return true
	}
	if holder == nil {
		holder = &ignoredHolder{account: i.accountOf(pid)}
	}
	err := holder.account.Take(quota.Ignored, 1)
	if err == nil {
		if err = i.loader.Ignore(pid, address); err != nil {
			holder.account.Give(quota.Ignored, 1)
		}
	}
	if err != nil {
		i.journal.warn(fmt.Errorf("what the filter leaves out of PID %d costs as much as what it selects: %w", pid, err))
		return false
	}
	holder.held++
	i.holders[pid] = holder
	return true
}

// accountOf is who pays for what is done for a process.
func (i *ignored) accountOf(pid int32) *quota.Account {
	payer := uint32(nobodyKnown)
	if entry := i.processes.find(pid); entry != nil {
		payer = entry.payer
	}
	return i.quota.Of(payer)
}
