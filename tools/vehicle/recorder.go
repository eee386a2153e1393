package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// program is the recorder.
const program = "build/caret-bpf"

// recordingPatience is how long a recording may take to begin.
const recordingPatience = 2 * time.Minute

// recorder is a running recording.
type recorder struct {
	command *exec.Cmd
	output  string
	said    chan string // all that it said; to be read when it has ended
	// began is how long it took until it recorded.
	began time.Duration
}

// start starts a recording and returns when it records.
func start(ctx context.Context, arguments ...string) (*recorder, error) {
	scratch, err := os.MkdirTemp("", "vehicle")
	if err != nil {
		return nil, err
	}
	r := &recorder{output: filepath.Join(scratch, "recording"), said: make(chan string, 1)}
	r.command = exec.Command(program, append([]string{"record", "--buffer-size", "64M", "-o", r.output}, arguments...)...)
	pipe, err := r.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := r.command.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	recording := make(chan time.Duration, 1)
	go r.listen(pipe, func() { recording <- time.Since(begin) })
	select {
	case r.began = <-recording:
		return r, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(recordingPatience):
		err = errors.New("the recording does not begin")
	case said := <-r.said:
		r.said <- said
		err = fmt.Errorf("the recording has ended: %s", said)
	}
	_, stopError := r.stop()
	return nil, errors.Join(err, stopError)
}

// listen reads what the recorder says, and tells when it records.
func (r *recorder) listen(from io.Reader, recording func()) {
	var said bytes.Buffer
	for lines := bufio.NewScanner(from); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "; Ctrl-C stops") {
			recording()
		}
	}
	r.said <- said.String()
}

// ended is what is known of a recording when it has ended.
type ended struct {
	detaching time.Duration // from Ctrl-C to the end of the program
	memory    int64         // most that was resident, bytes
}

// stop ends the recording and removes what it made.
func (r *recorder) stop() (ended, error) {
	begin := time.Now()
	_ = r.command.Process.Signal(syscall.SIGINT)
	overdue := time.AfterFunc(recordingPatience, func() { _ = r.command.Process.Kill() })
	defer overdue.Stop()
	said := <-r.said
	err := r.command.Wait()
	e := ended{detaching: time.Since(begin)}
	if usage, ok := r.command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.memory = usage.Maxrss << 10
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return e, errors.Join(err, os.RemoveAll(filepath.Dir(r.output)))
}
