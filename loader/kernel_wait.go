package loader

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kernelWait waits for the kernel to put something into a buffer. It does so in the poller of Go's runtime: while a
// thread waits in a system call, as that of cilium/ebpf's reader does, the runtime looks at it again and again. Of what
// a recorder takes while nothing happens, that was the largest part.
type kernelWait struct {
	file  *os.File
	raw   syscall.RawConn
	ready func() bool
	asked atomic.Bool // that the next wait, or the present one, be over
}

// newKernelWait waits for what can be read from a descriptor, which stays the caller's. ready reports whether there is
// something already: the kernel told of that before.
func newKernelWait(of int, ready func() bool) (*kernelWait, error) {
	fd, err := unix.FcntlInt(uintptr(of), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("waiting for the kernel: %w", err)
	}
	err = unix.SetNonblock(fd, true) // of others Go's poller knows nothing; nobody reads from it
	w := &kernelWait{file: os.NewFile(uintptr(fd), "kernel's buffer"), ready: ready}
	if err == nil {
		w.raw, err = w.file.SyscallConn()
	}
	if err == nil {
		err = w.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the kernel: %w", err), w.file.Close())
	}
	return w, nil
}

// until returns when there is something already, when the kernel tells that there is, at an instant, or when end is
// called.
func (w *kernelWait) until(instant time.Time) {
	if w.file.SetReadDeadline(instant) != nil || w.asked.Swap(false) {
		return
	}
	woken := false
	// What the poller had seen before is forgotten when Read begins, so it is looked then. An error says that it is that
	// late, or that it is closed.
	_ = w.raw.Read(func(uintptr) bool {
		defer func() { woken = true }()
		return woken || w.ready()
	})
	w.asked.Store(false)
}

// end ends the present wait or, if there is none, the next one.
func (w *kernelWait) end() {
	w.asked.Store(true)
	_ = w.file.SetReadDeadline(time.Unix(1, 0)) // it may be closed
}

func (w *kernelWait) close() error { return w.file.Close() }
