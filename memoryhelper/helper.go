package memoryhelper

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/selfexec"
)

// ErrUnanswered: a page of the process did not come in time. Its helper is given up.
var ErrUnanswered = errors.New("a page does not come")

const (
	// Patience is how long one read is waited for.
	Patience = time.Second
	// startPatience is how long the process may take to begin, which is up to the machine alone. It is less than those
	// wait who ask.
	startPatience = 4 * time.Second
)

// Helper reads memory for several goroutines, one read at a time. The zero Helper begins its process with the first
// one, and another one when the first was given up.
type Helper struct {
	mutex  sync.Mutex
	socket *os.File // nil while there is no process
	buffer []byte
	ended  chan struct{} // closed when the process has ended
	closed bool
}

// Read reads memory of a process into a buffer of at most BlockSize bytes. The error is an Errno of process_vm_readv,
// or ErrUnanswered, also where there is no helper. With ErrUnanswered, ended is closed when the helper that waits has
// ended. After Close nothing is read.
func (h *Helper) Read(pid int32, address uint64, into []byte) (n int, ended <-chan struct{}, err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		none := make(chan struct{})
		close(none)
		return 0, none, fmt.Errorf("%w: the helper was closed", ErrUnanswered)
	}
	if h.socket == nil {
		if ended, err := h.start(); err != nil {
			return 0, ended, fmt.Errorf("%w: starting a process that reads memory: %w", ErrUnanswered, err)
		}
	}
	into = into[:min(len(into), BlockSize)]
	a, err := h.ask(request{pid, uint32(len(into)), address})
	if err != nil {
		return 0, h.giveUp(), err
	}
	if a.errno != 0 {
		return 0, nil, a.errno
	}
	return copy(into, h.buffer[:a.read]), nil, nil
}

func (h *Helper) ask(r request) (answer, error) {
	if _, err := unix.Write(int(h.socket.Fd()), r.encode()); err != nil {
		return answer{}, fmt.Errorf("asking for memory: %w", err)
	}
	return h.await(Patience)
}

// await waits for what the process says next.
func (h *Helper) await(patience time.Duration) (answer, error) {
	fd := int(h.socket.Fd())
	deadline := time.Now().Add(patience)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(0, time.Until(deadline)).Milliseconds())+1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return answer{}, fmt.Errorf("waiting for memory: %w", err)
		case n == 0:
			return answer{}, ErrUnanswered
		}
		break
	}
	message := make([]byte, answerSize+1)
	n, err := unix.Read(fd, message)
	a, ok := parseAnswer(message[:max(n, 0)])
	if err != nil || !ok {
		return answer{}, fmt.Errorf("the process that reads memory has ended: %w", errors.Join(err, ErrUnanswered))
	}
	return a, nil
}

// start begins the process. After an error, what is returned is closed when no process of it is there any more.
func (h *Helper) start() (ended chan struct{}, err error) {
	none := make(chan struct{})
	close(none)
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return none, err
	}
	own, theirs := os.NewFile(uintptr(sockets[0]), "memory helper"), os.NewFile(uintptr(sockets[1]), "memory helper")
	defer theirs.Close()
	defer func() {
		if h.socket == nil {
			own.Close()
		}
	}()
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return none, err
	}
	shared := os.NewFile(uintptr(fd), "memory helper's buffer")
	defer shared.Close()
	if err := shared.Truncate(BlockSize); err != nil {
		return none, err
	}
	buffer, err := unix.Mmap(fd, 0, BlockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return none, err
	}
	runs := selfexec.Begin()
	command, err := selfexec.Start(name, theirs, shared)
	if err != nil {
		runs()
		return none, errors.Join(err, unix.Munmap(buffer))
	}
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	h.socket, h.buffer, h.ended = own, buffer, ended
	if _, err := h.await(startPatience); err != nil { // its greeting
		h.giveUp()
		go func() {
			<-ended
			runs()
		}()
		return ended, err
	}
	runs()
	return ended, nil
}

// giveUp lets the process end as soon as it can.
func (h *Helper) giveUp() (ended <-chan struct{}) {
	ended = h.ended
	_ = errors.Join(h.socket.Close(), unix.Munmap(h.buffer)) // whoever waits for a page has both, too
	h.socket, h.buffer, h.ended = nil, nil, nil
	return ended
}

// Close ends the process, and no other one begins.
func (h *Helper) Close() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.closed = true
	if h.socket != nil {
		h.giveUp()
	}
}
