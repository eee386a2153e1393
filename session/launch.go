package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/writer"
)

// LaunchArgument makes the recorder's own program wait for the recording and then become the command to record: it must call
// BecomeCommand when this is its first argument.
const LaunchArgument = "__become-command"

// patience is how long a launched command has for ending after each signal when the recording is over.
const patience = 5 * time.Second

// launched is a command that was started to be recorded. The nil one stands for no command.
type launched struct {
	command *exec.Cmd
	gate    *os.File // closing it without a byte makes the command never begin
	done    chan struct{}
	once    sync.Once
}

// prepareCommand starts the command's process, which waits for release, and arms what it will map.
func (s *Session) prepareCommand(ctx context.Context, command []string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the command: %w", err)
	}
	defer read.Close()
	waiting, waits, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting the command: %w", errors.Join(err, write.Close()))
	}
	defer waiting.Close()
	defer waits.Close()
	c := exec.Command("/proc/self/exe", append([]string{LaunchArgument}, command...)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.ExtraFiles = []*os.File{read, waits}
	c.Env = os.Environ()
	// A process group of its own: Ctrl-C ends the recording first, then the command, with all that it started. Such a group
	// cannot read from the terminal, so its input is empty.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.options.Owner != nil {
		if err := runAs(c, s.options.Owner); err != nil {
			return err
		}
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting the command: %w", err)
	}
	s.launched = &launched{command: c, gate: write, done: make(chan struct{})}
	if s.options.Observer.Launched != nil {
		s.options.Observer.Launched(c.Process.Pid)
	}
	go func() {
		_ = c.Wait()
		close(s.launched.done)
	}()
	// The process closes its end when its program runs, or when it dies. Before, it has no environment that could be read.
	_ = waits.Close()
	_, _ = waiting.Read(make([]byte, 1))
	p, err := s.finder.Inspect(int32(c.Process.Pid))
	if err != nil {
		return err
	}
	return s.add(ctx, p)
}

// runAs makes the command run as the user who called sudo: the recorder needs privileges, what it records does not.
func runAs(c *exec.Cmd, owner *writer.Owner) error {
	credential := &syscall.Credential{Uid: uint32(owner.UID), Gid: uint32(owner.GID)}
	account, err := user.LookupId(strconv.Itoa(owner.UID))
	if err == nil {
		groups, err := account.GroupIds()
		if err != nil {
			return fmt.Errorf("looking up the groups of %s: %w", account.Username, err)
		}
		for _, group := range groups {
			id, err := strconv.ParseUint(group, 10, 32)
			if err != nil {
				return fmt.Errorf("looking up the groups of %s: %w", account.Username, err)
			}
			credential.Groups = append(credential.Groups, uint32(id))
		}
		c.Env = append(c.Env, "HOME="+account.HomeDir, "USER="+account.Username, "LOGNAME="+account.Username)
	}
	c.SysProcAttr.Credential = credential
	return nil
}

// BecomeCommand waits until the recording is open, then becomes the command. It returns only with an error.
func BecomeCommand(command []string) error {
	gate, waits := os.NewFile(3, "gate"), os.NewFile(4, "waits")
	if gate == nil || waits == nil || len(command) == 0 {
		return errors.New("this is not meant to be called by hand")
	}
	_ = waits.Close()
	var released [1]byte
	if _, err := gate.Read(released[:]); err != nil {
		return errors.New("the recording did not begin")
	}
	_ = gate.Close()
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, command, os.Environ()))
}

// release lets the command begin.
func (l *launched) release() error {
	_, err := l.gate.Write([]byte{1})
	return errors.Join(err, l.gate.Close())
}

// exited reports whether the command itself has ended. Its children may be running.
func (l *launched) exited() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// kill ends the command and what it started when the recording is over: as Ctrl-C does, then harder.
func (l *launched) kill() {
	if l == nil {
		return
	}
	l.once.Do(func() {
		_ = l.gate.Close()
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
			if syscall.Kill(-l.command.Process.Pid, signal) != nil {
				return // nothing of it is left
			}
			l.wait(patience)
		}
	})
}

// wait returns when the command's process group has ended, or after the given time.
func (l *launched) wait(limit time.Duration) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if syscall.Kill(-l.command.Process.Pid, 0) != nil {
			return
		}
	}
}
