package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/caret-bpf/caret-bpf/tools/busy"
)

// launchingPatience is how long the programs of a command may take to begin.
const launchingPatience = 2 * time.Minute

// launchedWindows pass until what a callback takes later is measured. Running processes are attached to, and searched,
// before a recording begins; those of a command while they run.
const launchedWindows = 2 * windowCount

// measureLaunched measures a recording of a command that starts all programs, as a launch file does.
func measureLaunched(ctx context.Context, s busy.System, size int, pace *busy.Pace) (figures, error) {
	scratch, err := os.MkdirTemp("", "vehicle")
	if err != nil {
		return figures{}, err
	}
	defer os.RemoveAll(scratch)
	script, meters, err := writeScript(s, scratch, size)
	if err != nil {
		return figures{}, err
	}
	defer func() {
		for _, meter := range meters {
			_ = meter.Close()
		}
	}()
	r, err := start(ctx, "--", "/bin/sh", script)
	if err != nil {
		return figures{}, err
	}
	found, err := measureScript(ctx, r, scratch, meters, pace)
	_, stopError := r.stop()
	return found, errors.Join(err, stopError)
}

// writeScript writes the command. The first program executes callbacks, and notes its PID. It begins last: it would
// slow down the others.
func writeScript(s busy.System, scratch string, size int) (script string, meters []*busy.Meter, err error) {
	var text strings.Builder
	for i := range size {
		path := filepath.Join(scratch, fmt.Sprint("meter", i))
		meter, err := busy.OpenMeter(path)
		if err != nil {
			return "", nil, err
		}
		meters = append(meters, meter)
		if i > 0 {
			writeCommand(&text, s, busy.Idle, path, 1+i%domains)
		}
	}
	text.WriteString("sleep 1\n")
	writeCommand(&text, s, busy.CallbackWithPublish, filepath.Join(scratch, "meter0"), 0)
	fmt.Fprintf(&text, "echo $! > %s\nwait\n", pidFile(scratch))
	script = filepath.Join(scratch, "launch.sh")
	return script, meters, os.WriteFile(script, []byte(text.String()), 0o600)
}

func pidFile(scratch string) string { return filepath.Join(scratch, "pid") }

// writeCommand writes a line that starts a program with its environment, whose names and values are plain words.
func writeCommand(text *strings.Builder, s busy.System, load busy.Workload, meter string, domain int) {
	command := s.Command(load, meter, domain)
	fmt.Fprintf(text, "%s %s &\n", strings.Join(command.Env[len(os.Environ()):], " "), strings.Join(command.Args, " "))
}

// measureScript measures a recording whose command has just begun.
func measureScript(ctx context.Context, r *recorder, scratch string, meters []*busy.Meter, pace *busy.Pace) (figures, error) {
	deadline := time.Now().Add(launchingPatience)
	for i, meter := range meters {
		least := uint64(1)
		if i == 0 {
			least = busy.LeastCallbacks
		}
		for meter.Read().Callbacks < least {
			if ctx.Err() != nil || time.Now().After(deadline) {
				return figures{}, fmt.Errorf("the programs do not begin: %w", busy.ErrTooFew)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	text, err := os.ReadFile(pidFile(scratch))
	if err != nil {
		return figures{}, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return figures{}, err
	}
	return measureRecording(r, watched{meters[0], int32(pid), pace}, launchedWindows, func(signal os.Signal) error { return syscall.Kill(pid, signal.(syscall.Signal)) })
}
