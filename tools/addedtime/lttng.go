package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errLTTng = errors.New("LTTng")

// lttngDaemon is the session daemon that programs register with when they start; nil if there is none.
type lttngDaemon struct {
	pid     int // 0: it ran before
	scratch string
}

// startLTTng starts a session daemon unless one runs.
func startLTTng(ctx context.Context) (*lttngDaemon, error) {
	for _, tool := range []string{"lttng", "lttng-sessiond"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w", errLTTng, err)
		}
	}
	if exec.CommandContext(ctx, "lttng", "--no-sessiond", "list").Run() == nil {
		return &lttngDaemon{}, nil
	}
	scratch, err := os.MkdirTemp("", "addedtime-lttng")
	if err != nil {
		return nil, err
	}
	pidFile := filepath.Join(scratch, "pid")
	d := &lttngDaemon{scratch: scratch}
	// Its output is not read: the daemon keeps it open.
	if err := exec.CommandContext(ctx, "lttng-sessiond", "--background", "--no-kernel", "--pidfile="+pidFile).Run(); err != nil {
		d.stop()
		return nil, fmt.Errorf("%w: lttng-sessiond: %w", errLTTng, err)
	}
	text, err := os.ReadFile(pidFile)
	if err == nil {
		d.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err != nil {
		d.stop()
		return nil, fmt.Errorf("%w: lttng-sessiond: %w", errLTTng, err)
	}
	return d, nil
}

func (d *lttngDaemon) stop() {
	if d == nil || d.scratch == "" {
		return
	}
	if d.pid > 0 {
		_ = syscall.Kill(d.pid, syscall.SIGTERM)
		for deadline := time.Now().Add(stopPatience); syscall.Kill(d.pid, 0) == nil && time.Now().Before(deadline); {
			time.Sleep(pollInterval)
		}
	}
	_ = os.RemoveAll(d.scratch)
}

// lttngEvents are the tracepoints that tell the same.
const lttngEvents = "ros2:callback_start,ros2:callback_end,ros2:rclcpp_publish,ros2:rcl_publish,ros2:rmw_publish"

// lttngSession records the events of one process, with its thread, into a trace on disk.
func lttngSession(ctx context.Context, p *program, _ *plans) (end, error) {
	name := fmt.Sprintf("addedtime-%d", p.pid())
	on := []string{"--userspace", "--session=" + name}
	output := filepath.Join(p.scratch, "lttng")
	if err := lttng(ctx, "create", name, "--output="+output); err != nil {
		return nil, err
	}
	destroy := func() error {
		return errors.Join(lttng(context.WithoutCancel(ctx), "destroy", name), os.RemoveAll(output))
	}
	for _, arguments := range [][]string{
		append([]string{"enable-channel", "--subbuf-size=4M", "--num-subbuf=4", "events"}, on...),
		append([]string{"enable-event", "--channel=events", lttngEvents}, on...),
		append([]string{"add-context", "--channel=events", "--type=vpid", "--type=vtid"}, on...),
		append([]string{"untrack", "--all", "--vpid"}, on...),
		append([]string{"track", fmt.Sprintf("--vpid=%d", p.pid())}, on...),
		{"start", name},
	} {
		if err := lttng(ctx, arguments...); err != nil {
			return nil, errors.Join(err, destroy())
		}
	}
	return func() (uint64, error) {
		if err := lttng(ctx, "stop", name); err != nil {
			return 0, errors.Join(err, destroy())
		}
		lost, err := discarded(ctx, name)
		return lost, errors.Join(err, destroy())
	}, nil
}

func lttng(ctx context.Context, arguments ...string) error {
	text, err := exec.CommandContext(ctx, "lttng", append([]string{"--quiet", "--no-sessiond"}, arguments...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: lttng %s: %w: %s", errLTTng, strings.Join(arguments, " "), err, text)
	}
	return nil
}

var discardedLine = regexp.MustCompile(`Discarded events: *(\d+)`)

// discarded is how many events a session's buffers had no room for.
func discarded(ctx context.Context, name string) (lost uint64, err error) {
	text, err := exec.CommandContext(ctx, "lttng", "--no-sessiond", "list", name).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: lttng list: %w: %s", errLTTng, err, text)
	}
	for _, match := range discardedLine.FindAllSubmatch(text, -1) {
		count, err := strconv.ParseUint(string(match[1]), 10, 64)
		if err != nil {
			return 0, err
		}
		lost += count
	}
	return lost, nil
}
