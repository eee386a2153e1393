package tracers

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

// ErrLTTng says that LTTng is not installed, or does not do what it is asked for.
var ErrLTTng = errors.New("LTTng")

const (
	stopPatience = 20 * time.Second
	pollInterval = 20 * time.Millisecond
)

// Daemon is LTTng's session daemon, which programs register with when they start.
type Daemon struct {
	pid     int // 0: it ran before
	scratch string
}

// StartDaemon starts a session daemon unless one runs. It must be stopped.
func StartDaemon(ctx context.Context) (*Daemon, error) {
	for _, tool := range []string{"lttng", "lttng-sessiond"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLTTng, err)
		}
	}
	if exec.CommandContext(ctx, "lttng", "--no-sessiond", "list").Run() == nil {
		return &Daemon{}, nil
	}
	scratch, err := os.MkdirTemp("", "lttng-sessiond")
	if err != nil {
		return nil, err
	}
	pidFile := filepath.Join(scratch, "pid")
	d := &Daemon{scratch: scratch}
	// Its output is not read: the daemon keeps it open.
	err = exec.CommandContext(ctx, "lttng-sessiond", "--background", "--no-kernel", "--pidfile="+pidFile).Run()
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(pidFile); err == nil {
			d.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
	}
	if err != nil {
		d.Stop()
		return nil, fmt.Errorf("%w: lttng-sessiond: %w", ErrLTTng, err)
	}
	return d, nil
}

// Stop stops the daemon if StartDaemon started it. That of nil does nothing.
func (d *Daemon) Stop() {
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

// LTTngSession is what LTTng records into one trace: of chosen processes, each event with its process and thread.
type LTTngSession struct {
	Name string
	// Output is the trace's directory.
	Output string
	// Events are names of tracepoints, with commas between them; ros2:* are all of ROS 2.
	Events string
	// Blocking makes a program wait while the buffers are full, if it was started with LTTNG_UST_ALLOW_BLOCKING: nothing
	// is lost then.
	Blocking bool
}

// Start begins to record the processes. More may be added.
func (s LTTngSession) Start(ctx context.Context, processes ...int32) error {
	if err := lttng(ctx, "create", s.Name, "--output="+s.Output); err != nil {
		return err
	}
	on := []string{"--userspace", "--session=" + s.Name}
	channel := append([]string{"enable-channel", "--subbuf-size=4M", "--num-subbuf=4"}, on...)
	if s.Blocking {
		channel = append(channel, "--blocking-timeout=inf")
	}
	for _, arguments := range [][]string{
		append(channel, "events"),
		append([]string{"enable-event", "--channel=events", s.Events}, on...),
		append([]string{"add-context", "--channel=events", "--type=vpid", "--type=vtid"}, on...),
		append([]string{"untrack", "--all", "--vpid"}, on...),
	} {
		if err := lttng(ctx, arguments...); err != nil {
			return errors.Join(err, s.Destroy(ctx))
		}
	}
	for _, process := range processes {
		if err := s.Track(ctx, process); err != nil {
			return errors.Join(err, s.Destroy(ctx))
		}
	}
	if err := lttng(ctx, "start", s.Name); err != nil {
		return errors.Join(err, s.Destroy(ctx))
	}
	return nil
}

// Track adds a process to a session of that name.
func (s LTTngSession) Track(ctx context.Context, process int32) error {
	return lttng(ctx, "track", "--userspace", "--session="+s.Name, fmt.Sprintf("--vpid=%d", process))
}

// Stop ends the recording, and says how many events the session's buffers had no room for.
func (s LTTngSession) Stop(ctx context.Context) (lost uint64, err error) {
	if err := lttng(ctx, "stop", s.Name); err != nil {
		return 0, errors.Join(err, s.Destroy(ctx))
	}
	lost, err = s.discarded(ctx)
	return lost, errors.Join(err, s.Destroy(ctx))
}

// Destroy gives the session up. Its trace stays.
func (s LTTngSession) Destroy(ctx context.Context) error {
	return lttng(context.WithoutCancel(ctx), "destroy", s.Name)
}

func lttng(ctx context.Context, arguments ...string) error {
	text, err := exec.CommandContext(ctx, "lttng", append([]string{"--quiet", "--no-sessiond"}, arguments...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: lttng %s: %w: %s", ErrLTTng, strings.Join(arguments, " "), err, text)
	}
	return nil
}

var discardedLine = regexp.MustCompile(`Discarded events: *(\d+)`)

func (s LTTngSession) discarded(ctx context.Context) (lost uint64, err error) {
	text, err := exec.CommandContext(ctx, "lttng", "--no-sessiond", "list", s.Name).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: lttng list: %w: %s", ErrLTTng, err, text)
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
