package attachguard

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/selfexec"
)

// Guard is the process that looks on. It ends with this program.
type Guard struct {
	command *exec.Cmd
	closing chan struct{} // closed when it is to end
	told    chan struct{} // closed when everything was told
}

// Start begins to look on. tell is called from another goroutine with what was ended, a sentence each.
func Start(tell func(string)) (*Guard, error) {
	g, err := start(tell)
	if err != nil {
		return nil, fmt.Errorf("starting the process that looks on while probes are attached: %w", err)
	}
	return g, nil
}

func start(tell func(string)) (*Guard, error) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	self := os.NewFile(uintptr(fd), "pidfd")
	defer self.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	command, err := selfexec.Start(name, self, write)
	if err != nil {
		read.Close()
		return nil, err
	}
	g := &Guard{command: command, closing: make(chan struct{}), told: make(chan struct{})}
	go func() {
		defer close(g.told)
		defer read.Close()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			tell(lines.Text())
		}
		select {
		case <-g.closing:
		default:
			tell("the process has ended that looks on while probes are attached: a process that keeps its memory map locked holds up attaching")
		}
	}()
	return g, nil
}

// Close ends looking on. Nothing is told afterwards.
func (g *Guard) Close() {
	close(g.closing)
	_ = g.command.Process.Kill() // it waits for nothing that cannot be killed
	_ = g.command.Wait()
	<-g.told
}
