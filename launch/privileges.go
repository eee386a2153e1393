package launch

import (
	"errors"
	"fmt"
	"math"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/osthread"
)

// startWithout starts a command that gets nothing of what the recorder may do and has open: no descriptors but those
// that the command names, no inheritable and ambient capabilities. One that is run by another user than root (asRoot
// tells) gets no capabilities at all, and can gain no privileges either: what setuid programs and capabilities of files
// would give it is not given.
func startWithout(c *exec.Cmd, asRoot bool) error {
	// What the recorder opens is closed when a program is executed, what it inherited may not be.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keeping descriptors from the command: %w", err)
	}
	result := make(chan error)
	// The command inherits from the thread that starts it. What was given up is given up for nobody else.
	osthread.Go(func() {
		if err := shedPrivileges(asRoot, c.SysProcAttr.Credential != nil); err != nil {
			result <- fmt.Errorf("keeping privileges from the command: %w", err)
			return
		}
		result <- c.Start()
	})
	return <-result
}

// shedPrivileges takes from the calling thread what a command must not inherit. Where the user is still to be changed,
// which takes capabilities, the kernel drops those when it is.
func shedPrivileges(asRoot, changesUser bool) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	if !asRoot {
		if err := emptyBoundingSet(); err != nil {
			return err
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	for i := range sets {
		sets[i].Inheritable = 0 // and so is the ambient set, a part of it
		if !asRoot && !changesUser {
			sets[i].Permitted, sets[i].Effective = 0, 0
		}
	}
	return unix.Capset(&header, &sets[0])
}

// emptyBoundingSet does nothing without CAP_SETPCAP. A process that can gain no privileges gets nothing of the set
// anyway.
func emptyBoundingSet() error {
	for capability := uintptr(0); ; capability++ {
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM): // EINVAL: there are no more capabilities
			return nil
		case err != nil:
			return err
		}
	}
}
