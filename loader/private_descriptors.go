package loader

import (
	"fmt"
	"math"
	"os"

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

// newPrivateDescriptors needs close_range (5.9).
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
	// Standard error is kept, because the runtime writes there if it has to give up.
	const firstOfOthers = 3
	if err := unix.CloseRange(firstOfOthers, math.MaxUint32, unix.CLOSE_RANGE_UNSHARE); err != nil {
		return err
	}
	p.program, err = unix.PidfdOpen(os.Getpid(), 0)
	return err
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
