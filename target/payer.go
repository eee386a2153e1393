package target

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/quota"
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
// beside his. In a user namespace of somebody's making there are as many users as he likes: there he pays for all.
func (f *Finder) payer(pid int32) (uint32, error) {
	if owner, ok := namespaceOwner(f.processPath(pid, "ns/user")); ok {
		return owner, nil
	}
	text, err := f.readProcessFile(pid, "status", maxStatusSize)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, found := strings.CutPrefix(string(line), "Uid:"); found {
			ids, err := parseIDs(strings.Fields(value))
			if err != nil || len(ids) == 0 {
				break
			}
			return ids[0], nil // the real one
		}
	}
	return 0, fmt.Errorf("status without Uid")
}

// maxNamespaceDepth is the kernel's.
const maxNamespaceDepth = 32

// namespaceOwner is the user who made a user namespace, as this program's namespace knows him: that of the outermost
// one below it. False for this program's own namespace, and where that cannot be told.
func namespaceOwner(path string) (uint32, bool) {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return 0, false
	}
	link, err := os.Readlink(path)
	if err != nil || link == own {
		return 0, false
	}
	handle, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer func() { unix.Close(handle) }()
	for range maxNamespaceDepth {
		parent, err := unix.IoctlRetInt(handle, unix.NS_GET_PARENT)
		if err != nil {
			return 0, false // it is not below this program's
		}
		if link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", parent)); err == nil && link == own {
			unix.Close(parent)
			owner, err := unix.IoctlGetUint32(handle, unix.NS_GET_OWNER_UID)
			return owner, err == nil
		}
		unix.Close(handle)
		handle = parent
	}
	return 0, false
}
