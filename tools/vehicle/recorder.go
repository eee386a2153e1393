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

	"github.com/caret-bpf/caret-bpf/test/measure"
	"github.com/caret-bpf/caret-bpf/trace"
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

// memory returns how much of the recorder was resident at most, in bytes. Pages that it has mapped several times, as it
// has its ring buffer, count once.
func (r *recorder) memory() (int64, error) {
	kilobytes := map[string]int64{}
	for _, name := range []string{"smaps_rollup", "status"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", r.command.Process.Pid, name))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			var value int64
			if key, rest, found := strings.Cut(line, ":"); found {
				if _, err := fmt.Sscanf(rest, "%d kB", &value); err == nil {
					kilobytes[key] = value
				}
			}
		}
	}
	return (kilobytes["Pss"] + kilobytes["VmHWM"] - kilobytes["VmRSS"]) << 10, nil
}

// ended is what is known of a recording when it has ended.
type ended struct {
	detaching time.Duration // from Ctrl-C to the end of the program
	sites     int           // that session.json lists, which is not all of them beyond 30,000
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
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said)
	}
	text, readError := os.ReadFile(filepath.Join(r.output, trace.SessionFile))
	if readError == nil {
		var session *trace.Session
		if session, readError = trace.DecodeSession(text); readError == nil {
			e.sites = len(session.Plan.Sites)
		}
	}
	err = errors.Join(err, readError)
	return e, errors.Join(err, os.RemoveAll(filepath.Dir(r.output)))
}

// processorTime returns what the recorder uses, in seconds for each second of what is done.
func (r *recorder) processorTime(do func()) (float64, error) {
	began := time.Now()
	before, err := measure.ProcessorTime(r.command.Process.Pid)
	if err != nil {
		return 0, err
	}
	do()
	after, err := measure.ProcessorTime(r.command.Process.Pid)
	return (after - before).Seconds() / time.Since(began).Seconds(), err
}
