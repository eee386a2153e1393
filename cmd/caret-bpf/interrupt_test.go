package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caret-bpf/caret-bpf/test/standin"
	"github.com/caret-bpf/caret-bpf/trace"
)

// recorder is the program while it records.
type recorder struct {
	t       *testing.T
	command *exec.Cmd
	said    *bufio.Scanner // its standard error
}

func startRecorder(t *testing.T, arguments ...string) *recorder {
	t.Helper()
	r := &recorder{t: t, command: programCommand(append([]string{"record"}, arguments...)...)}
	r.start()
	return r
}

func (r *recorder) start() {
	r.t.Helper()
	stderr, err := r.command.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.command.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = r.command.Process.Kill()
		_ = r.command.Wait()
	})
	r.said = bufio.NewScanner(stderr)
}

// waitFor waits until the recorder says a text.
func (r *recorder) waitFor(text string) {
	r.t.Helper()
	var all []string
	for r.said.Scan() {
		all = append(all, r.said.Text())
		if strings.Contains(r.said.Text(), text) {
			return
		}
	}
	r.t.Fatalf("the recorder did not say %q but\n%s", text, strings.Join(all, "\n"))
}

func (r *recorder) signal(signals ...os.Signal) {
	r.t.Helper()
	for _, s := range signals {
		if err := r.command.Process.Signal(s); err != nil {
			r.t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // lest the kernel make one of two
	}
}

// exitCode waits for the end; -1 if a signal ended it.
func (r *recorder) exitCode() int {
	for r.said.Scan() { // what nobody reads would hold it up
		r.t.Log(r.said.Text())
	}
	_ = r.command.Wait()
	return r.command.ProcessState.ExitCode()
}

// One request to stop may be delivered several times.
func TestRequestDeliveredTwice(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	for name, signals := range map[string][]os.Signal{
		"the same":        {syscall.SIGTERM, syscall.SIGTERM},
		"different":       {syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP},
		"hanging up last": {syscall.SIGTERM, syscall.SIGHUP, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			output := filepath.Join(t.TempDir(), "recording")
			r := startRecorder(t, "-p", fmt.Sprint(node.PID()), "-o", output)
			r.waitFor("recording to")
			r.signal(signals...)
			r.waitFor("stopping; again to abort")
			if code := r.exitCode(); code != exitSuccess {
				t.Errorf("exit code %d", code)
			}
			dataset, err := trace.Open(output)
			if err != nil {
				t.Fatal(err)
			}
			if s := dataset.Session(); s.Ending != trace.EndingSignal || s.State != trace.StateStopped {
				t.Errorf("session.json says %s, %s", s.State, s.Ending)
			}
		})
	}
	node.Stop()
}

// The summary is of what was recorded, and not of what stands at its path.
func TestSummaryOfAnExchangedDirectory(t *testing.T) {
	requireRecording(t)
	node := standin.StartReady(t, standin.Config{Distro: standin.Jazzy, RMW: standin.CycloneDDS, Arguments: []string{"--rate", "50"}})
	output := filepath.Join(t.TempDir(), "recording")
	r := &recorder{t: t, command: programCommand("record", "-p", fmt.Sprint(node.PID()), "-o", output)}
	var summary bytes.Buffer
	r.command.Stdout = &summary
	r.start()
	r.waitFor("recording to")
	if err := errors.Join(os.Rename(output, output+".moved"), os.Mkdir(output, 0o700)); err != nil {
		t.Fatal(err)
	}
	r.signal(syscall.SIGINT)
	if code := r.exitCode(); code != exitSuccess {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(summary.String(), "complete (ended by signal)") {
		t.Errorf("the summary is %q", summary.String())
	}
	node.Stop()
}

// A command that does not end when asked keeps the recorder waiting: who asks again gets an end at once.
func TestSecondRequestAborts(t *testing.T) {
	requireRecording(t)
	output := filepath.Join(t.TempDir(), "recording")
	r := startRecorder(t, "-o", output, "--", "sh", "-c", `trap "" INT TERM; while :; do sleep 1; done`)
	r.waitFor("recording to")
	r.signal(syscall.SIGTERM)
	r.waitFor("stopping; again to abort")
	time.Sleep(secondRequest)
	r.signal(syscall.SIGTERM)
	if code := r.exitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, not %d", code, exitInterrupted)
	}
}
