package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/caret-bpf/caret-bpf/target"
)

// startStopped starts a process that is to become a command, and that somebody has stopped.
func startStopped(t *testing.T) *Command {
	t.Helper()
	report, reports, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reports.Close()
	gate, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sleep", "1000")
	command.ExtraFiles = []*os.File{reports}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as commands have
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return &Command{command: command, gate: gate, report: report, done: make(chan struct{}), patience: patience, finder: target.NewFinder()}
}

// Whoever waits for a process that is stopped goes on when he wants, and the process is gone.
func TestStoppedBeforeItBegan(t *testing.T) {
	l := startStopped(t)
	ctx, cancel := context.WithTimeout(t.Context(), readyPatience/20)
	defer cancel()
	if err := l.AwaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	l.Discard()
	if l.Runs() {
		t.Error("the process runs")
	}
}

// One that is stopped when it is ready ends as well.
func TestStoppedWhenReady(t *testing.T) {
	l := startStopped(t)
	go l.await()
	if l.Discard(); l.Runs() {
		t.Error("the process runs")
	}
}
