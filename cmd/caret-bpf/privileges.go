package main

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/session"
)

// privilege is a capability that recordings use.
type privilege struct {
	name   string
	number uint
	// use is what is done with it.
	use string
	// required says that nothing is recorded without it. Otherwise part says what is not, "" where something else does its
	// work.
	required bool
	part     string
	// isFor tells for which recordings it is; nil is for all.
	isFor func(recordFlags, session.Configuration) bool
}

// privileges are all that recordings use. Each is in docs/recording.md. usesTracefs says that probes are made there.
func privileges(usesTracefs bool) []privilege {
	return []privilege{
		{name: "CAP_BPF", number: unix.CAP_BPF, use: "loading BPF programs", required: true},
		{name: "CAP_PERFMON", number: unix.CAP_PERFMON, use: "attaching uprobes", required: true},
		{
			name: "CAP_SYS_PTRACE", number: unix.CAP_SYS_PTRACE, part: "other users' processes",
			use: "reading the mappings and the memory of other users' processes: nothing else gives access",
		},
		{
			name: "CAP_CHECKPOINT_RESTORE", number: unix.CAP_CHECKPOINT_RESTORE, part: "processes in containers, replaced files",
			use: "opening files that a process has mapped and no path leads to: they were deleted or replaced, or are in a container",
		},
		{
			name: "CAP_DAC_READ_SEARCH", number: unix.CAP_DAC_READ_SEARCH, part: "other users' processes",
			use: "reading what /proc shows of a process to its owner only, and files that others keep to themselves",
		},
		{
			name: "CAP_SETUID", number: unix.CAP_SETUID, part: "files that other users' processes name",
			use: "reading the files that a process names (message definitions, libraries to come) with the rights of its user",
		},
		{
			name: "CAP_SETGID", number: unix.CAP_SETGID, part: "files that other users' processes name",
			use: "the same, with the rights of its groups",
		},
		{
			name: "CAP_SYS_ADMIN", number: unix.CAP_SYS_ADMIN, part: "machines with hostile users",
			use: "ending a FUSE connection for which attaching waits (a user can keep every process of the machine from forking so), --ring, " +
				"and being told of new mappings where kernel.perf_event_paranoid is above 2",
		},
		{
			// Trace events belong to root. With uprobe_multi nobody needs them.
			name: "CAP_DAC_OVERRIDE", number: unix.CAP_DAC_OVERRIDE, required: usesTracefs, part: "folders of others",
			use: "making trace events without uprobe_multi, and writing to folders of others",
		},
		{
			name: "CAP_KILL", number: unix.CAP_KILL, part: "commands of other users", isFor: startsPrograms,
			use: "ending a command, a trigger's program or a forwarder that runs as another user",
		},
		{
			name: "CAP_SETPCAP", number: unix.CAP_SETPCAP, isFor: startsPrograms,
			use: "emptying the bounding set of what is started; no_new_privs does the same",
		},
		{
			name: "CAP_CHOWN", number: unix.CAP_CHOWN, part: "sockets for who calls sudo", isFor: givesSocketAway,
			use: "giving the socket of --control auto to the user who called sudo",
		},
		{
			name: "CAP_NET_BIND_SERVICE", number: unix.CAP_NET_BIND_SERVICE, part: "metrics at ports below 1024", isFor: servesReservedPort,
			use: "answering scrapes at a port below 1024 (--metrics)",
		},
	}
}

// startsPrograms tells whether a recording starts something as another user: a command, what stands for processes to
// come, programs of triggers, a forwarder.
func startsPrograms(_ recordFlags, configuration session.Configuration) bool {
	return configuration.PIDs == "" || len(configuration.Triggers) > 0 || configuration.Upload != ""
}

func givesSocketAway(f recordFlags, _ session.Configuration) bool { return f.control == automatic }

// firstFreePort is the first one that anybody may serve (net.ipv4.ip_unprivileged_port_start).
const firstFreePort = 1024

func servesReservedPort(f recordFlags, _ session.Configuration) bool {
	_, text, err := net.SplitHostPort(f.metrics)
	if err != nil {
		return false
	}
	port, err := strconv.Atoi(text)
	return err == nil && 0 < port && port < firstFreePort
}

// capabilitySet has a bit for each capability, by its number.
type capabilitySet uint64

func (s capabilitySet) has(number uint) bool { return s&(1<<number) != 0 }

// neededFor are the capabilities of a recording. It may turn out to need tracefs.
func neededFor(f recordFlags, configuration session.Configuration) (needed capabilitySet) {
	for _, p := range privileges(true) {
		if p.isFor == nil || p.isFor(f, configuration) {
			needed |= 1 << p.number
		}
	}
	return needed
}

// heldCapabilities are those of the calling thread.
func heldCapabilities() (sets [2]unix.CapUserData, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return sets, fmt.Errorf("asking for capabilities: %w", err)
	}
	return sets, nil
}

// hasCapability reports whether this process has a capability; CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and
// CAP_CHECKPOINT_RESTORE, CAP_DAC_OVERRIDE includes CAP_DAC_READ_SEARCH.
func hasCapability(number uint) bool {
	sets, err := heldCapabilities()
	if err != nil {
		return false
	}
	held := capabilitySet(sets[0].Effective) | capabilitySet(sets[1].Effective)<<32
	switch number {
	case unix.CAP_DAC_READ_SEARCH:
		return held.has(number) || held.has(unix.CAP_DAC_OVERRIDE)
	case unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE:
		return held.has(number) || held.has(unix.CAP_SYS_ADMIN)
	}
	return held.has(number)
}

// secureNoRoot is SECBIT_NOROOT of linux/securebits.h.
const secureNoRoot = 1

// giveUpPrivileges leaves a recorder that root runs what its recording needs, and no way to anything else. It does not
// return where there is something to give up: the program begins anew then, with the arguments, because threads that
// there are keep what they have. (What changes those of all at once also gives back what single threads have given up.)
// The command that root records is an ordinary process of root, so its recorder keeps everything.
func giveUpPrivileges(c console, f recordFlags, configuration session.Configuration, arguments []string) error {
	if os.Geteuid() != 0 || len(configuration.Command) > 0 && c.caller.ID() == 0 {
		return nil
	}
	// Where root is nobody special (capabilities(7), securebits), whoever began the program has chosen what it has.
	if secured, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0); err != nil || secured&secureNoRoot != 0 {
		return err
	}
	needed := neededFor(f, configuration)
	sets, err := heldCapabilities()
	if err != nil {
		return err
	}
	gainsNothing, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("asking for no_new_privs: %w", err)
	}
	kept := [2]uint32{uint32(needed), uint32(needed >> 32)}
	excess := gainsNothing == 0
	for i := range sets {
		excess = excess || sets[i].Permitted&^kept[i] != 0 || sets[i].Inheritable != 0
		sets[i].Permitted &= kept[i]
		sets[i].Effective &= kept[i]
		sets[i].Inheritable = 0 // and so is the ambient set, a part of it
	}
	if !excess {
		// Under the name that the user knows, and not that of the link by which the program began anew. Where /proc is
		// read-only it keeps that one.
		_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
		return nil
	}
	runtime.LockOSThread() // what executes a program leaves it what it has itself
	if err := limitThread(sets, needed); err != nil {
		return fmt.Errorf("giving up privileges: %w", err)
	}
	return fmt.Errorf("beginning anew without privileges: %w", syscall.Exec("/proc/self/exe", arguments, os.Environ()))
}

// limitThread leaves the calling thread, and what it becomes, so many privileges.
func limitThread(sets [2]unix.CapUserData, needed capabilitySet) error {
	for number := uint(0); number < bits.UintSize; number++ {
		if needed.has(number) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // there are no more; or CAP_SETPCAP is missing, and no_new_privs has to be enough
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	return unix.Capset(&header, &sets[0])
}
