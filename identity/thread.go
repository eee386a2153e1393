package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/osthread"
)

// ErrNotTaken is returned where the program lacks the capabilities to take another user's identity.
var ErrNotTaken = errors.New("taking the identity of another user needs CAP_SETUID and CAP_SETGID")

// Run runs a function on a thread of its own that has the identity for whatever it does to files, and returns the
// function's error. One that says that a file system refuses it tells whom. What the function has opened keeps the
// rights it was opened with; other goroutines that it starts do not have the identity.
func (i *Identity) Run(f func() error) error {
	if i == nil {
		return f()
	}
	done := make(chan error, 1)
	if err := i.Go(func() { done <- f() }); err != nil {
		return err
	}
	err := <-done
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w for %v", err, i)
	}
	return err
}

// Go starts a function as Run does, and returns when its thread has the identity. If it cannot get it, the function is
// not run.
func (i *Identity) Go(f func()) error {
	if i == nil {
		go f()
		return nil
	}
	taken := make(chan error, 1)
	osthread.Go(func() {
		err := i.take()
		taken <- err
		if err == nil {
			f()
		}
	})
	return <-taken
}

// take makes the identity that of the calling thread, for files and for nothing else. The thread keeps no capability
// but those of the identity. There is no way back: the thread must end.
func (i *Identity) take() error {
	if err := i.become(); err != nil && i.User != uint32(os.Geteuid()) {
		return fmt.Errorf("%w: %w", ErrNotTaken, err)
	}
	sets, err := capabilities()
	if err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	for half := range sets {
		sets[half].Effective = sets[half].Permitted & uint32(i.Capabilities>>(32*half))
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}

// become takes the IDs. The functions of the standard library would take them for all threads.
func (i *Identity) become() error {
	if _, _, err := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(i.Groups)), uintptr(unsafe.Pointer(unsafe.SliceData(i.Groups))), 0); err != 0 {
		return fmt.Errorf("groups: %w", err)
	}
	if err := setID(unix.SetfsgidRetGid, i.Group); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	if err := setID(unix.SetfsuidRetUid, i.User); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	return nil
}

// setID calls setfsgid or setfsuid. They return what was before, and no error; called with what is no ID they only
// return what is.
func setID(set func(int) (int, error), id uint32) error {
	const noID = -1
	if _, err := set(int(id)); err != nil {
		return err
	}
	if now, err := set(noID); err != nil || uint32(now) != id {
		return unix.EPERM
	}
	return nil
}
