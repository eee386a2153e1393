package session

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

// LaunchArgument makes the recorder's own program wait for the recording and then become the command to record: it must
// call BecomeCommand when this is its first argument.
const LaunchArgument = "__become-command"

// readyPatience is how long the process of a command has until it waits to become the command.
const readyPatience = 10 * time.Second

// patience is how long a launched command has for ending after each signal when the recording is over.
const patience = 5 * time.Second

// ErrCommand is returned when the command to record cannot be run by the user for whom it is run.
var ErrCommand = errors.New("the command to record cannot be run")

// launched is a command that was started to be recorded. The nil one stands for no command.
type launched struct {
	command  *exec.Cmd
	gate     *os.File // closing it without a byte makes the command never begin
	report   *os.File // what BecomeCommand says
	done     chan struct{}
	problem  string // why the command could not be run after all; set when done is closed
	patience time.Duration
	finder   *target.Finder
	once     sync.Once
}

// startCommand starts the command's process, which waits for release. The error wraps ErrCommand if the command cannot
// be run.
func (s *Session) startCommand(ctx context.Context, command []string) error {
	l, err := startWaiting(s.finder, s.options.Caller, command, os.Environ())
	if err != nil {
		return err
	}
	s.launched = l
	if s.options.Observer.Launched != nil {
		s.options.Observer.Launched(l.command.Process.Pid)
	}
	return l.awaitReady(ctx)
}

// startWaiting starts a process that becomes the command when it is released, as the user who called.
func startWaiting(finder *target.Finder, caller *identity.Identity, command, environment []string) (*launched, error) {
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
	l := &launched{
		command: exec.Command("/proc/self/exe", append([]string{LaunchArgument}, command...)...),
		gate:    write, report: report, done: make(chan struct{}), patience: patience, finder: finder,
	}
	c := l.command
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.ExtraFiles = []*os.File{read, reports}
	c.Env = environment
	// A process group of its own: Ctrl-C ends the recording first, then the command, with all that it started. Such a
	// group cannot read from the terminal, so its input is empty.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	user := caller.ID()
	if user != os.Geteuid() {
		runAs(c, caller)
	}
	if err := startWithout(c, user == 0); err != nil {
		return nil, fmt.Errorf("starting the command: %w", errors.Join(err, write.Close(), report.Close()))
	}
	return l, nil
}

// awaitReady returns when the process waits to become the command. Before it says so, it has no environment that could
// be read. It is of the user who called, whose other processes may stop it: it is killed when it does not answer in
// time, or when ctx ends.
func (l *launched) awaitReady(ctx context.Context) error {
	_ = l.report.SetReadDeadline(time.Now().Add(readyPatience))
	stop := context.AfterFunc(ctx, func() { _ = l.report.SetReadDeadline(time.Now()) })
	ready := make([]byte, len(readyToRun))
	_, err := io.ReadFull(l.report, ready)
	if stop() {
		_ = l.report.SetReadDeadline(time.Time{})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = syscall.Kill(l.command.Process.Pid, syscall.SIGKILL)
		go l.await()
		<-l.done
		return cmp.Or(ctx.Err(), fmt.Errorf("%w: its process (PID %d) did not begin within %v; is it stopped?", ErrCommand, l.command.Process.Pid, readyPatience))
	}
	go l.await()
	if err != nil || string(ready) != readyToRun {
		<-l.done
		return fmt.Errorf("%w: %s%s", ErrCommand, bytes.TrimRight(ready, "\x00"), l.problem)
	}
	return nil
}

// discard ends a process that has run nothing, and never will.
func (l *launched) discard() {
	if l == nil {
		return
	}
	l.once.Do(func() {
		_ = l.gate.Close()
		_ = syscall.Kill(l.command.Process.Pid, syscall.SIGKILL) // also if somebody has stopped it
		<-l.done
		_ = l.command.Wait()
	})
}

// await collects what the process reports after it is ready, and its end.
func (l *launched) await() {
	defer close(l.done)
	defer l.report.Close()
	problem, _ := io.ReadAll(io.LimitReader(l.report, maxProblem)) // until it has become the command, or dies
	awaitExit(l.command.Process.Pid)
	l.problem = string(problem)
}

// failure returns ErrCommand if the command has ended because it could not be run after all.
func (l *launched) failure() error {
	if l == nil || !l.exited() || l.problem == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrCommand, l.problem)
}

// addCommand arms what the command will map.
func (s *Session) addCommand(ctx context.Context) error {
	p, err := s.finder.Inspect(ctx, int32(s.launched.command.Process.Pid))
	if err != nil {
		return err
	}
	return s.follower.add(ctx, p, s.planner.plan(ctx, p))
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

// BecomeCommand waits until the recording is open, then becomes the command. It returns only if it cannot: with nil
// when the recorder knows why, with an error when there is none.
func BecomeCommand(command []string) error {
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
			if !l.runs() {
				break
			}
			_ = syscall.Kill(-l.command.Process.Pid, signal)
			l.wait()
		}
		if !l.runs() {
			<-l.done
			_ = l.command.Wait() // its exit status is not the recording's
		}
	})
}

// runs reports whether any process of the command's process group still runs.
func (l *launched) runs() bool { return l.finder.GroupRuns(int32(l.command.Process.Pid)) }

// wait returns when the command's process group has ended, or patience has.
func (l *launched) wait() {
	for deadline := time.Now().Add(l.patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !l.runs() {
			return
		}
	}
}
