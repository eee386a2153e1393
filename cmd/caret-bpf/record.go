package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/target"
	"github.com/caret-bpf/caret-bpf/trace"
)

func recordCommand() command {
	return command{
		name:      "record",
		arguments: "(-p PIDS | --name REGEXP | --all) [flags]\n       caret-bpf record [flags] -- COMMAND [ARGUMENTS]",
		summary:   "record running ROS 2 processes, or a command from its start",
		examples: []string{
			`sudo caret-bpf record -p "$(pgrep -f component_container)" -o rec`,
			"sudo caret-bpf record --all --duration 30s",
			"sudo caret-bpf record --attribute vehicle=bus-7 -- ros2 launch my_pkg my.launch.py",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			var configuration session.Configuration
			buffer := byteSize(0)
			quiet := false
			flags.StringVarP(&configuration.PIDs, "pid", "p", "", "record the processes with these `PIDS`, separated by commas or white space; "+
				"a PID that cannot be recorded is left out, with a warning")
			flags.StringVar(&configuration.Name, "name", "", "record processes whose command or command line matches the `REGEXP`, later ones too")
			flags.BoolVar(&configuration.All, "all", false, "record every ROS 2 process, later ones too")
			flags.StringArrayVar(&configuration.Prefixes, "prefix", nil, "probe the libraries of an install prefix before a process maps them: the `DIRECTORY` of a workspace's "+
				"install folder, such as $PWD/install (repeatable; /opt/ros/* is probed so anyway)")
			flags.StringVarP(&configuration.Output, "output", "o", "", "the dataset's `DIRECTORY` (default caret-bpf-DATE-TIME)")
			flags.StringVar(&configuration.Mode, "mode", "", "permissions of the dataset's files as an `OCTAL` number, such as 0644: everybody may read "+
				"(default 0640, less what the umask takes away)")
			flags.StringArrayVar(&configuration.Attributes, "attribute", nil, "note `KEY=VALUE` of the recording, such as vehicle=bus-7; queries group and select by it "+
				"(repeatable)")
			flags.DurationVarP(&configuration.Duration, "duration", "d", 0, "stop after this `TIME`, such as 30s (default: at Ctrl-C)")
			flags.StringArrayVar(&configuration.SelectNodes, "select-node", nil, "record only nodes whose full name matches the `REGEXP` (repeatable)")
			flags.StringArrayVar(&configuration.IgnoreNodes, "ignore-node", nil, "leave out nodes whose full name matches the `REGEXP` (repeatable); --select-node overrides it")
			flags.StringArrayVar(&configuration.SelectTopics, "select-topic", nil, "record only topics whose name matches the `REGEXP` (repeatable)")
			flags.StringArrayVar(&configuration.IgnoreTopics, "ignore-topic", nil, "leave out topics whose name matches the `REGEXP` (repeatable); --select-topic overrides it")
			flags.Var(&buffer, "buffer-size", "`SIZE` of the kernel's ring buffer in bytes, or with K, M, G (KiB, MiB, GiB): powers of 1024, at most 1G (default 16M)")
			flags.DurationVar(&configuration.SegmentPeriod, "segment-period", 0, "what a crash can lose: rows are on disk after this `TIME` (default 15s)")
			flags.BoolVar(&configuration.Raw, "raw", false, "also record every tracepoint hit unmerged, in the table event")
			flags.BoolVar(&configuration.ForceTracefs, "force-tracefs", false, "attach as on kernels without uprobe_multi (before 6.6)")
			flags.StringVar((*string)(&configuration.Profile), "profile", "", "`WHICH` events: minimal (callbacks, takes and publishes with the fewest probes), "+
				"standard (all but waits), full (also waits, and every tracepoint hit) (default standard)")
			flags.Var((*percentage)(&configuration.MaxOverhead), "max-overhead", "if recording takes more than this `SHARE` of a thread's time, such as 2%, "+
				"detach the costliest probes that callbacks, takes and publishes can do without (default: no limit)")
			flags.StringVar((*string)(&configuration.Sites), "sites", "",
				"`WHERE` to probe functions: entries (at their first instruction), callers (those without a cheap instruction "+
					"at their callers only), both (those at their callers and in their bodies) (default: what is cheapest and certain)")
			flags.BoolVarP(&quiet, "quiet", "q", false, "print errors only")
			return func(ctx context.Context, c console, arguments []string) error {
				if err := checkStrayWords(flags, arguments); err != nil {
					return err
				}
				for i, prefix := range configuration.Prefixes {
					var err error
					if configuration.Prefixes[i], err = filepath.Abs(prefix); err != nil {
						return err
					}
				}
				configuration.Command = arguments
				configuration.BufferBytes = int(buffer)
				if configuration.Output == "" {
					configuration.Output = "caret-bpf-" + time.Now().Format("20060102-150405")
				}
				return record(ctx, c, configuration, quiet)
			}
		},
	}
}

// checkStrayWords refuses words before "--", or without it: they are PIDs whose flag or quotes were forgotten, or a
// command.
func checkStrayWords(flags *pflag.FlagSet, arguments []string) error {
	stray := arguments
	if before := flags.ArgsLenAtDash(); before >= 0 {
		stray = arguments[:before]
	}
	if len(stray) == 0 {
		return nil
	}
	words := strings.Join(stray, " ")
	if _, err := target.ParsePIDs(words); err != nil {
		return fmt.Errorf("%w: unexpected %q; a command to record comes behind --: caret-bpf record -- %s", errUsage, stray[0], words)
	}
	if pids := flags.Lookup("pid").Value.String(); pids != "" {
		return fmt.Errorf("%w: unexpected %q; several PIDs are one word, in quotes: -p \"%s %s\"", errUsage, stray[0], pids, words)
	}
	if len(stray) > 1 {
		words = `"` + words + `"`
	}
	return fmt.Errorf("%w: unexpected %q; PIDs come behind -p: caret-bpf record -p %s", errUsage, stray[0], words)
}

func record(ctx context.Context, c console, configuration session.Configuration, quiet bool) error {
	options := session.Options{Version: version, Caller: c.caller, Trusted: []uint32{uint32(c.caller.ID())}}
	options.Costs, _ = knownCosts(c)
	options.Cache, _ = cacheFolder(c.getenv, c.caller) // without one, what is to be known again is found again
	progress := newProgress(c.err, quiet)
	var directory *os.File
	options.Observer = session.Observer{
		Created:  func(created *os.File) { directory = created },
		Message:  progress.message,
		Launched: func(group int) { c.launched.Store(int64(group)) },
		Status:   progress.status,
		Recording: func() {
			progress.message(fmt.Sprintf("recording to %s; Ctrl-C stops", configuration.Output))
		},
	}
	stopTelling := context.AfterFunc(ctx, func() { progress.message("stopping; again to abort") })
	err := session.Run(ctx, configuration, options)
	stopTelling()
	progress.end()
	if directory == nil {
		return err
	}
	defer func() { _ = directory.Close() }()
	if quiet {
		return err
	}
	// By its path it could be a directory that somebody else has put in its place.
	dataset, openError := trace.OpenAs(fmt.Sprintf("/proc/self/fd/%d", directory.Fd()), c.caller.Run)
	if openError != nil || dataset.Session() == nil {
		return err // it was discarded
	}
	recorded, summaryError := summary.Of(context.WithoutCancel(ctx), dataset, nil)
	if summaryError != nil {
		return errors.Join(err, summaryError)
	}
	printSummary(c.out, configuration.Output, recorded, summaryRows, false)
	return err
}
