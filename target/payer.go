package target

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
	"github.com/caret-bpf/caret-bpf/usernamespace"
)

// quotaTotals are what all processes together may use of the program, far above what the largest systems need.
func quotaTotals() quota.Totals {
	descriptors := int64(fewDescriptors)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		// Go's runtime has raised the limit to the hard one.
		descriptors = int64(max(fewDescriptors, min(limit.Cur, manyDescriptors)))
	}
	return quota.Totals{
		quota.Work:      32 << 30,  // two thirds of a minute of one processor
		quota.Memory:    512 << 20, // a library of 110 MB takes 10 MB
		quota.Files:     descriptors / 2,
		quota.Processes: min(descriptors/8, 1<<14), // each has up to four; the kernel side lists so many
		quota.Probes:    1 << 19,
		quota.Entities:  1 << 21,
		quota.Delegates: 2 * maxDelegates,
		quota.Waiting:   waitingTime.Milliseconds(),
		quota.Ignored:   kernelAddresses,
		quota.Headers:   kernelAddresses,
	}
}

// kernelAddresses is how many the kernel side's maps of addresses hold, each of them.
const kernelAddresses = 1 << 16

// waitingTime is how long the files that processes name are read in ten minutes: one user's half as long, at most.
const waitingTime = 4 * time.Minute

// With fewer descriptors than this, who needs more is told to raise the limit. More than so many are not shared out.
const (
	fewDescriptors  = 1 << 12
	manyDescriptors = 1 << 20
)

// Quota is what the processes that the Finder opens share, by user.
func (f *Finder) Quota() *quota.Quota { return f.quota }

// Account is by which the process uses the quota of its Finder.
func (p *Process) Account() *quota.Account { return p.account }

// PaidBy returns a context for work that is done for the process: its user pays.
func (p *Process) PaidBy(ctx context.Context) context.Context { return p.account.With(ctx) }

// Payer is the user who pays for what is done for a process.
func (f *Finder) Payer(pid int32) (uint32, error) {
	user, err := f.payer(pid)
	return user, processError(pid, err)
}

// payer is the user to whom what is done for a process is charged: who started it, whatever rights its program has
// beside his. See usernamespace.Namespace.Payer for user namespaces. Who pays says nothing of who is trusted.
func (f *Finder) payer(pid int32) (uint32, error) {
	namespace, err := usernamespace.Of(f.processPath(pid, ""))
	if err == nil && !namespace.Own {
		return namespace.Payer(0, f.trusts), nil
	}
	text, err := f.readProcessFile(pid, "status", maxStatusSize)
	if err != nil {
		return 0, err
	}
	users, err := userIDs(text)
	if err != nil {
		return 0, err
	}
	return users[0], nil // the real one
}
