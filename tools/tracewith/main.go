// Command tracewith runs a command, such as a recording, while LTTng or bpftrace record the same process.
//
// usage: tracewith [-p PID] [-bpftrace FILE] [-lttng DIRECTORY [-session NAME] [-events LIST] [-blocking]] COMMAND...
//
// With -track NAME it has the LTTng session of that name record the command, which then takes its place: so it adds to
// the session what is started in the first form.
//
// The exit code is the command's, or 2.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/tools/tracers"
)

const exitError = 2

type options struct {
	process  int
	bpftrace string
	lttng    tracers.LTTngSession
	track    string
	command  []string
}

func main() {
	var o options
	flag.IntVar(&o.process, "p", 0, "`PID` of the process that the other tracers record")
	flag.StringVar(&o.bpftrace, "bpftrace", "", "have bpftrace print hits into this `FILE`")
	flag.StringVar(&o.lttng.Output, "lttng", "", "have LTTng record into this `DIRECTORY`")
	flag.StringVar(&o.lttng.Name, "session", fmt.Sprintf("caret-bpf-%d", os.Getpid()), "`NAME` of LTTng's session")
	flag.StringVar(&o.lttng.Events, "events", "ros2:*", "tracepoints that LTTng records, with commas between them")
	flag.BoolVar(&o.lttng.Blocking, "blocking", false, "programs wait while LTTng's buffers are full")
	flag.StringVar(&o.track, "track", "", "have the LTTng session of this `NAME` record the command")
	flag.Parse()
	if o.command = flag.Args(); len(o.command) == 0 {
		flag.Usage()
		os.Exit(exitError)
	}
	// The command gets the signals of the terminal, too, and ends first.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	err := o.run(ctx)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		os.Exit(failed.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracewith:", err)
		os.Exit(exitError)
	}
}

func (o options) run(ctx context.Context) (err error) {
	if o.track != "" {
		return o.replace(ctx)
	}
	if o.bpftrace != "" {
		running, startError := o.startBpftrace(ctx)
		if startError != nil {
			return startError
		}
		defer func() { err = errors.Join(err, complain("bpftrace", running.Stop)) }()
	}
	if o.lttng.Output != "" {
		daemon, startError := tracers.StartDaemon(ctx)
		if startError != nil {
			return startError
		}
		defer daemon.Stop()
		var processes []int32
		if o.process != 0 {
			processes = append(processes, int32(o.process))
		}
		if err := o.lttng.Start(ctx, processes...); err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, complain("LTTng", func() (uint64, error) { return o.lttng.Stop(context.WithoutCancel(ctx)) }))
		}()
	}
	command := exec.CommandContext(ctx, o.command[0], o.command[1:]...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command.Run()
}

// complain stops a tracer and says what it has lost.
func complain(name string, stop func() (lost uint64, err error)) error {
	lost, err := stop()
	if lost > 0 {
		fmt.Fprintf(os.Stderr, "tracewith: %s lost %d events\n", name, lost)
	}
	return err
}

// replace makes this process, which the session records from now on, the command.
func (o options) replace(ctx context.Context) error {
	path, err := exec.LookPath(o.command[0])
	if err != nil {
		return err
	}
	if err := (tracers.LTTngSession{Name: o.track}).Track(ctx, int32(os.Getpid())); err != nil {
		return err
	}
	return syscall.Exec(path, o.command, os.Environ())
}

func (o options) startBpftrace(ctx context.Context) (*tracers.Bpftrace, error) {
	process, err := target.NewFinder().Open(ctx, int32(o.process))
	if err != nil {
		return nil, err
	}
	defer process.Close()
	plan, err := probes.NewPlan(ctx, process, probes.Options{Choice: probes.ChooseEntries})
	if err != nil {
		return nil, err
	}
	sites := slices.DeleteFunc(plan.Sites, func(s probes.Site) bool { return s.Armed })
	return tracers.StartBpftrace(int32(o.process), tracers.AllThreads, sites, o.bpftrace)
}
