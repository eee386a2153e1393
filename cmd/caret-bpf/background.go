package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// backgroundFlag has the recorder go on by itself.
const backgroundFlag = "background-wait"

// exitError is the exit code of a recorder in the background that did not begin. It has said why.
type exitError int

func (e exitError) Error() string {
	return fmt.Sprintf("the recorder has ended with exit code %d before it recorded", int(e))
}

// recordInBackground starts the program again, without the flag, in a session of its own, and returns when it records.
// What it says until then is passed on; later nobody listens. arguments is the command line, socket the value of
// --control.
func recordInBackground(ctx context.Context, c console, arguments []string, socket string) error {
	arguments = withoutBackground(arguments)
	if socket == "" {
		socket = automatic
		arguments = slices.Insert(arguments, 1, "--control", automatic)
	}
	folder, err := os.MkdirTemp("", "caret-bpf-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ready := &net.UnixAddr{Name: filepath.Join(folder, "ready"), Net: "unixgram"}
	told, err := net.ListenUnixgram("unixgram", ready)
	if err != nil {
		return err
	}
	defer func() { _ = told.Close() }()

	recorder := exec.Command("/proc/self/exe", arguments...)
	recorder.Env = append(os.Environ(), "NOTIFY_SOCKET="+ready.Name)
	recorder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	said, err := recorder.StderrPipe()
	if err != nil {
		return err
	}
	if err := recorder.Start(); err != nil {
		return err
	}
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for text := make([]byte, 4096); ; {
			n, err := said.Read(text)
			_, _ = c.err.Write(text[:n])
			if err != nil {
				return
			}
		}
	}()
	ended := make(chan error, 1)
	go func() {
		<-passed // Wait closes the pipe
		ended <- recorder.Wait()
	}()
	records := make(chan error, 1)
	go func() { records <- awaitReady(told) }()
	defer context.AfterFunc(ctx, func() { _ = recorder.Process.Signal(os.Interrupt) })()
	select {
	case err := <-records:
		if err != nil {
			return errors.Join(err, recorder.Process.Signal(os.Interrupt))
		}
	case err := <-ended:
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return exitError(exit.ExitCode())
		}
		return errors.Join(errors.New("the recorder has ended before it recorded"), err)
	}
	if socket == automatic {
		socket = c.socketOf(recorder.Process.Pid)
	}
	status, err := control.NewClient(socket).Status(ctx)
	if err != nil {
		return fmt.Errorf("PID %d records, but does not answer: %w", recorder.Process.Pid, err)
	}
	says := "PID %d records to %s; `caret-bpf ctl stop --socket %s` ends it\n"
	if status.State == string(trace.StateArmed) {
		says = "PID %d is armed, to record to %s; `caret-bpf ctl start --socket %s` begins it\n"
	}
	_, err = fmt.Fprintf(c.out, says, status.PID, report.Printable(status.Output), report.Printable(socket))
	return err
}

// withoutBackground are the words of a command line but for the flag.
func withoutBackground(arguments []string) []string {
	end := len(arguments)
	if dashes := slices.Index(arguments, "--"); dashes >= 0 {
		end = dashes // what follows is somebody else's
	}
	kept := slices.DeleteFunc(slices.Clone(arguments[:end]), func(word string) bool {
		return word == "--"+backgroundFlag || strings.HasPrefix(word, "--"+backgroundFlag+"=")
	})
	return append(kept, arguments[end:]...)
}

// awaitReady returns when READY=1 has come.
func awaitReady(socket *net.UnixConn) error {
	for message := make([]byte, 4096); ; {
		n, err := socket.Read(message)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(bytes.Split(message[:n], []byte("\n")), func(line []byte) bool { return string(line) == "READY=1" }) {
			return nil
		}
	}
}
