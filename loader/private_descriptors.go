package loader

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/osthread"
)

// privateDescriptors are a table of descriptors that the program's children do not inherit, and the thread that has it:
// between fork and exec a child has copies of all others. What is closed in this table is closed for good.
type privateDescriptors struct {
	calls chan func()
	// program is a descriptor of this process, in the private table. What the table of all other threads has can be copied
	// with it (5.6).
	program int
}

func newPrivateDescriptors() (*privateDescriptors, error) {
	p := &privateDescriptors{calls: make(chan func())}
	began := make(chan error)
	osthread.Go(func() {
		err := p.begin()
		began <- err
		if err != nil {
			return
		}
		for call := range p.calls {
			call()
		}
	})
	if err := <-began; err != nil {
		return nil, fmt.Errorf("a thread with descriptors of its own: %w", err)
	}
	return p, nil
}

func (p *privateDescriptors) begin() (err error) {
	time.NewTimer(time.Hour).Stop() // from the first timer on, the runtime has what it waits with
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return err
	}
	if err := closeAllButOfRuntime(); err != nil {
		return err
	}
	p.program, err = unix.PidfdOpen(os.Getpid(), 0)
	return err
}

// ofRuntime are the kinds of descriptors that Go's runtime has on any thread: when one collects garbage, it looks for
// events, and the program ends if the number leads to something else.
var ofRuntime = []string{"anon_inode:[eventpoll]", "anon_inode:[eventfd]"}

// closeAllButOfRuntime closes the descriptors of the calling thread. Standard error is kept, too, because the runtime
// writes there if it has to give up.
func closeAllButOfRuntime() error {
	const table, firstOfOthers = "/proc/thread-self/fd", 3
	entries, err := os.ReadDir(table)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		number, err := strconv.Atoi(entry.Name())
		if err != nil || number < firstOfOthers {
			continue
		}
		kind, err := os.Readlink(filepath.Join(table, entry.Name()))
		if err == nil && !slices.Contains(ofRuntime, kind) {
			_ = unix.Close(number) // that of the folder is closed already
		}
	}
	return nil
}

// do runs a function whose descriptors are those of the private table.
func (p *privateDescriptors) do(f func() error) error {
	done := make(chan error)
	p.calls <- func() { done <- f() }
	return <-done
}

// withCopy lends f a copy of a descriptor of all other threads. It is called within do.
func (p *privateDescriptors) withCopy(fd int, f func(copied int) error) error {
	copied, err := unix.PidfdGetfd(p.program, fd, 0)
	if err != nil {
		return fmt.Errorf("copying descriptor %d: %w", fd, err)
	}
	defer func() { _ = unix.Close(copied) }() // the original stays
	return f(copied)
}

// Close ends the thread, and closes what the table still has.
func (p *privateDescriptors) Close() error {
	close(p.calls)
	return nil
}
