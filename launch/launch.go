package launch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/identity"
	"github.com/caret-bpf/caret-bpf/target"
)

// Argument makes the recorder's own program wait for the recording and then become the command to record: it must call
// Become when this is its first argument.
const Argument = "__become-command"

// readyPatience is how long the process of a command has until it waits to become the command.
const readyPatience = 10 * time.Second

// patience is how long a launched command has for ending after each signal when the recording is over.
const patience = 5 * time.Second

// ErrCommand is returned when the command to record cannot be run by the user for whom it is run.
var ErrCommand = errors.New("the command to record cannot be run")

// Command is a command that was started to be recorded. The nil one stands for no command.
type Command struct {
	command  *exec.Cmd
	gate     *os.File // closing it without a byte makes the command never begin
	report   *os.File // what Become says
	done     chan struct{}
	problem  string // why the command could not be run after all; set when done is closed
	patience time.Duration
	finder   *target.Finder
	once     sync.Once
}

// Start starts a process that becomes a command when it is released, as the user who called.
func Start(finder *target.Finder, caller *identity.Identity, command, environment []string) (*Command, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	defer read.Close()
	report, reports, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the command: %w", errors.Join(err, write.Close()))
	}
	defer reports.Close()
	c := &Command{
		command: exec.Command("/proc/self/exe", append([]string{Argument}, command...)...),
		gate:    write, report: report, done: make(chan struct{}), patience: patience, finder: finder,
	}
	cmd := c.command
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{read, reports}
	cmd.Env = environment
	// Ctrl-C ends the recording first, then the command's group. Such a group cannot read from the terminal, so its input
	// is empty.
	if err := startAs(cmd, caller); err != nil {
		return nil, fmt.Errorf("starting the command: %w", errors.Join(err, write.Close(), report.Close()))
	}
	return c, nil
}

// AwaitReady returns when the process waits to become the command. Before it says so, it has no environment that could
// be read. It is of the user who called, whose other processes may stop it: it is killed when it does not answer in
// time, or when ctx ends.
func (c *Command) AwaitReady(ctx context.Context) error {
	_ = c.report.SetReadDeadline(time.Now().Add(readyPatience))
	stop := context.AfterFunc(ctx, func() { _ = c.report.SetReadDeadline(time.Now()) })
	ready := make([]byte, len(readyToRun))
	_, err := io.ReadFull(c.report, ready)
	if stop() {
		_ = c.report.SetReadDeadline(time.Time{})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = syscall.Kill(c.command.Process.Pid, syscall.SIGKILL)
		go c.await()
		<-c.done
		return cmp.Or(ctx.Err(), fmt.Errorf("%w: its process (PID %d) did not begin within %v; is it stopped?", ErrCommand, c.command.Process.Pid, readyPatience))
	}
	go c.await()
	if err != nil || string(ready) != readyToRun {
		<-c.done
		return fmt.Errorf("%w: %s%s", ErrCommand, bytes.TrimRight(ready, "\x00"), c.problem)
	}
	return nil
}

// Discard ends a process that has run nothing, and never will.
func (c *Command) Discard() {
	if c == nil {
		return
	}
	c.once.Do(func() {
		_ = c.gate.Close()
		_ = syscall.Kill(c.command.Process.Pid, syscall.SIGKILL) // also if somebody has stopped it
		<-c.done
		_ = c.command.Wait()
	})
}

// await collects what the process reports after it is ready, and its end.
func (c *Command) await() {
	defer close(c.done)
	defer c.report.Close()
	problem, _ := io.ReadAll(io.LimitReader(c.report, maxProblem)) // until it has become the command, or dies
	awaitExit(c.command.Process.Pid)
	c.problem = string(problem)
}

// PID is that of the command, and of its process group.
func (c *Command) PID() int { return c.command.Process.Pid }

// Failure returns ErrCommand if the command has ended because it could not be run after all.
func (c *Command) Failure() error {
	if c == nil || !c.Exited() || c.problem == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrCommand, c.problem)
}

// startAs starts a command as a user, in a process group of its own, with all that it starts.
func startAs(c *exec.Cmd, as *identity.Identity) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if as.ID() != os.Geteuid() {
		runAs(c, as)
	}
	return startWithout(c, as.ID() == 0)
}

// runAs makes the command run as the user who called sudo: the recorder needs privileges, what it records does not.
func runAs(c *exec.Cmd, caller *identity.Identity) {
	c.SysProcAttr.Credential = &syscall.Credential{Uid: caller.User, Gid: caller.Group, Groups: caller.Groups}
	if account := caller.Account(); account != nil {
		c.Env = append(c.Env, "HOME="+account.HomeDir, "USER="+account.Username, "LOGNAME="+account.Username)
	}
}

// readyToRun is the report that the command was found; whatever else is reported says why it cannot be run.
const readyToRun = "ready:"

// maxProblem bounds what is read of a report, in bytes.
const maxProblem = 4096

// Become waits until the recording is open, then becomes the command. It returns only if it cannot: with nil
// when the recorder knows why, with an error when there is none.
func Become(command []string) error {
	const gateNumber, reportNumber = 3, 4
	gate, report := os.NewFile(gateNumber, "gate"), os.NewFile(reportNumber, "report")
	if gate == nil || report == nil || len(command) == 0 {
		return errors.New("this is not meant to be called by hand")
	}
	syscall.CloseOnExec(gateNumber)
	syscall.CloseOnExec(reportNumber) // closed without a word: the command runs
	path, err := exec.LookPath(command[0])
	if err != nil {
		_, err := report.WriteString(err.Error())
		return err
	}
	if _, err := report.WriteString(readyToRun); err != nil {
		return err
	}
	var released [1]byte
	if _, err := gate.Read(released[:]); err != nil {
		return nil // the recording did not begin
	}
	err = syscall.Exec(path, command, os.Environ())
	_, err = fmt.Fprintf(report, "%s: %v", path, err)
	return err
}

// Release lets the command begin.
func (c *Command) Release() error {
	_, err := c.gate.Write([]byte{1})
	return errors.Join(err, c.gate.Close())
}

// Exited reports whether the command itself has ended. Its children may be running.
func (c *Command) Exited() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Kill ends the command and what it started when the recording is over: as Ctrl-C does, then harder.
func (c *Command) Kill() {
	if c == nil {
		return
	}
	c.once.Do(func() {
		_ = c.gate.Close()
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
			if !c.Runs() {
				break
			}
			_ = syscall.Kill(-c.command.Process.Pid, signal)
			c.wait()
		}
		if !c.Runs() {
			<-c.done
			_ = c.command.Wait() // its exit status is not the recording's
		}
	})
}

// Runs reports whether any process of the command's process group still runs.
func (c *Command) Runs() bool { return c.finder.GroupRuns(int32(c.command.Process.Pid)) }

// wait returns when the command's process group has ended, or patience has.
func (c *Command) wait() {
	for deadline := time.Now().Add(c.patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !c.Runs() {
			return
		}
	}
}
