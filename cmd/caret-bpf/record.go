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
	"github.com/caret-bpf/caret-bpf/attaching"
	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/settings"
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
			f := defineRecordFlags(flags)
			file := flags.String(configFlag, "", "take what the command line does not say from a YAML `FILE`; `caret-bpf config default` prints one")
			background := flags.Bool(backgroundFlag, false, "return when everything is recorded, and go on in the background; caret-bpf ctl drives it")
			return func(ctx context.Context, c console, arguments []string) error {
				if err := checkStrayWords(flags, arguments); err != nil {
					return err
				}
				again := os.Args
				if *file != "" {
					named, copied, err := openSettings(c.caller, *file)
					if err != nil {
						return err
					}
					defer func() { _ = named.Close() }()
					if arguments, err = recordForm().Apply(*file, named, flags, arguments); err != nil {
						return err
					}
					if copied {
						again = readingCopy(again, named)
					}
				}
				if err := f.checkStart(*background); err != nil {
					return err
				}
				if *background {
					return recordInBackground(ctx, c, again[1:], f.control)
				}
				configuration, err := f.finish(arguments)
				if err != nil {
					return err
				}
				if c.isProgram {
					if err := giveUpPrivileges(c, *f, configuration, again); err != nil {
						return err
					}
				}
				return record(ctx, c, configuration, f)
			}
		},
	}
}

// recordFlags are what the flags of record say.
type recordFlags struct {
	configuration session.Configuration
	buffer        memorySize
	quiet         bool
	control       string
	metrics       string
}

// deferredFlag has the recording wait for its start.
const deferredFlag = "deferred-start"

func defineRecordFlags(flags *pflag.FlagSet) *recordFlags {
	f := new(recordFlags)
	flags.StringVarP(&f.configuration.PIDs, "pid", "p", "", "record the processes with these `PIDS`, separated by commas or white space; "+
		"a PID that cannot be recorded is left out, with a warning")
	flags.StringVar(&f.configuration.Name, "name", "", "record processes whose command or command line matches the `REGEXP`, later ones too")
	flags.BoolVar(&f.configuration.All, "all", false, "record every ROS 2 process, later ones too")
	flags.StringArrayVar(&f.configuration.Prefixes, "prefix", nil, "probe the libraries of an install prefix before a process maps them: the `DIRECTORY` of a workspace's "+
		"install folder, such as $PWD/install (repeatable; /opt/ros/* is probed so anyway)")
	flags.StringVarP(&f.configuration.Output, "output", "o", "", "the dataset's `DIRECTORY` (default caret-bpf-DATE-TIME)")
	flags.StringVar(&f.configuration.Mode, "mode", "", "permissions of the dataset's files as an `OCTAL` number, such as 0644: everybody may read "+
		"(default 0640, less what the umask takes away)")
	flags.StringArrayVar(&f.configuration.Attributes, "attribute", nil, "note `KEY=VALUE` of the recording, such as vehicle=bus-7; queries group and select by it "+
		"(repeatable)")
	flags.DurationVarP(&f.configuration.Duration, "duration", "d", 0, "stop after this `TIME`, such as 30s (default: at Ctrl-C)")
	flags.Uint64Var(&f.configuration.MaxRows, "max-rows", 0, "stop when all tables together have this `NUMBER` of rows (default: no limit)")
	flags.Var((*diskSize)(&f.configuration.MaxBytes), "max-size", "stop when the dataset has this `SIZE`, such as 10G (default: no limit)")
	flags.Var((*diskSize)(&f.configuration.MinFreeBytes), "min-free", "stop when less than this `SIZE` is left on the disk, such as 2G; "+
		"with --ring, make no snapshot then (default: when it is full)")
	flags.BoolVar(&f.configuration.StopWhenGone, "stop-when-gone", false, "with --name and --all, too, stop when processes were recorded and none of them is left")
	flags.Var((*ringBounds)(&f.configuration), "ring", "keep only the newest rows, in memory, within `BOUNDS`: a time, or a size, or both, such as 30s,256M; "+
		"snapshots make datasets in the directory of -o (caret-bpf ctl snapshot, --trigger, the signal SIGUSR1)")
	flags.DurationVar(&f.configuration.KeepAge, "keep-age", 0, "remove what is older than this `TIME`, such as 48h, while recording (default: keep all)")
	flags.Var((*diskSize)(&f.configuration.KeepBytes), "keep-size", "remove the oldest rows while recording when the dataset has this `SIZE`, such as 10G (default: keep all)")
	flags.IntVar(&f.configuration.KeepSegments, "keep-segments", 0, "remove what is older than this `NUMBER` of segment periods while recording (default: keep all)")
	flags.Var((*diskSize)(&f.configuration.KeepTotalBytes), "keep-total-size", "keep the recordings and snapshots in the folder of -o within this `SIZE`, such as 20G: "+
		"remove the oldest that have ended and have names that caret-bpf chose, then rows of this one (default: keep all)")
	flags.DurationVar(&f.configuration.KeepTotalAge, "keep-total-age", 0, "likewise remove what is older than this `TIME`, such as 720h (default: keep all)")
	flags.DurationVar(&f.configuration.RotateEvery, "rotate-every", 0, "move what was recorded into a dataset of its own after each such `TIME`, such as 10m (default: never)")
	flags.StringVar(&f.configuration.Upload, "upload", "", "put finished datasets into a `LAKE`, a directory or s3://BUCKET/PREFIX, beside the recording: "+
		"snapshots, what was rotated, and what earlier recordings have left in the folder that holds the output; docs/upload.md")
	flags.Var((*diskSize)(&f.configuration.UploadBandwidth), "upload-bandwidth", "send at most this `SIZE` a second to object storage, such as 1M (default: no limit)")
	flags.Var(optionalTime{&f.configuration.UploadDeleteAfter}, "upload-delete-after", "delete a dataset when it has arrived and this `TIME` has passed, such as 48h or 0s (default: keep all)")
	flags.StringArrayVar(&f.configuration.Triggers, "trigger", nil, "wait for something and act: a `DEFINITION` such as \"callback over=50ms node=^/planning before=10s after=5s\"; "+
		"docs/recording.md has all (repeatable)")
	flags.StringArrayVar(&f.configuration.SelectNodes, "select-node", nil, "record only nodes whose full name matches the `REGEXP` (repeatable)")
	flags.StringArrayVar(&f.configuration.IgnoreNodes, "ignore-node", nil, "leave out nodes whose full name matches the `REGEXP` (repeatable); --select-node overrides it")
	flags.StringArrayVar(&f.configuration.SelectTopics, "select-topic", nil, "record only topics whose name matches the `REGEXP` (repeatable)")
	flags.StringArrayVar(&f.configuration.IgnoreTopics, "ignore-topic", nil, "leave out topics whose name matches the `REGEXP` (repeatable); --select-topic overrides it")
	flags.Var(&f.buffer, "buffer-size", "`SIZE` of the kernel's ring buffer in bytes, or with K, M, G (KiB, MiB, GiB): powers of 1024, at most 1G (default 16M)")
	flags.DurationVar(&f.configuration.SegmentPeriod, "segment-period", 0, "what a crash can lose: rows are on disk after this `TIME` (default 15s)")
	flags.BoolVar(&f.configuration.Raw, "raw", false, "also record every tracepoint hit unmerged, in the table event")
	flags.StringVar((*string)(&f.configuration.Scheduling), "sched", "", "also record `WHAT` the kernel's scheduler did: callbacks (where their time went: on a CPU, preempted, "+
		"blocked, or awake and not running yet; caret-bpf latency callback --why), full (also each time off the CPU of threads that run callbacks or take messages, and due to whom; table sched)")
	flags.Lookup("sched").NoOptDefVal = string(session.SchedulingCallbacks)
	flags.BoolVar(&f.configuration.ForceTracefs, "force-tracefs", false, "attach as on kernels without uprobe_multi (before 6.6)")
	flags.StringVar((*string)(&f.configuration.Profile), "profile", "", "`WHICH` events: minimal (callbacks, takes and publishes with the fewest probes), "+
		"standard (all but waits), full (also waits, and every tracepoint hit) (default standard)")
	flags.Var((*percentage)(&f.configuration.MaxOverhead), "max-overhead", "if recording takes more than this `SHARE` of a thread's time, such as 2%, "+
		"detach the costliest probes that callbacks, takes and publishes can do without (default: no limit)")
	flags.StringVar((*string)(&f.configuration.Sites), "sites", "",
		"`WHERE` to probe functions: entries (at their first instruction), callers (those without a cheap instruction "+
			"at their callers only), both (those at their callers and in their bodies) (default: what is cheapest and certain)")
	flags.StringVar(&f.control, "control", "", "answer caret-bpf ctl and other programs at a Unix socket of this `PATH`; auto: where ctl finds it")
	flags.BoolVar(&f.configuration.DeferredStart, deferredFlag, false, "attach everything, and record from caret-bpf ctl start on; needs --control")
	flags.StringVar(&f.metrics, "metrics", "", "answer scrapes of Prometheus at `WHERE`: unix:PATH, or an address of this machine such as 127.0.0.1:9464")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	settings.Annotate(flags, "pid", settings.Separator, ",")
	settings.Annotate(flags, "profile", settings.Values, textsOf(probes.Profiles())...)
	settings.Annotate(flags, "sched", settings.Values, textsOf(session.Schedulings())...)
	settings.Annotate(flags, "sites", settings.Values, textsOf(attaching.SiteModes()[1:])...)
	return f
}

// textsOf returns names as texts.
func textsOf[T ~string](names []T) (texts []string) {
	for _, name := range names {
		texts = append(texts, string(name))
	}
	return texts
}

// checkStart refuses a recording that nobody can start. One in the background has a socket of its own.
func (f *recordFlags) checkStart(background bool) error {
	if f.configuration.DeferredStart && f.control == "" && !background {
		return fmt.Errorf("%w: --%s needs --control, by which the recording is started", errUsage, deferredFlag)
	}
	return nil
}

// finish returns what is to be recorded; command is what is to be started, if anything.
func (f *recordFlags) finish(command []string) (session.Configuration, error) {
	configuration := f.configuration
	configuration.Prefixes = nil
	for _, prefix := range f.configuration.Prefixes {
		absolute, err := filepath.Abs(prefix)
		if err != nil {
			return configuration, err
		}
		configuration.Prefixes = append(configuration.Prefixes, absolute)
	}
	configuration.Command = command
	configuration.BufferBytes = int(f.buffer)
	if err := finishUpload(&configuration); err != nil {
		return configuration, err
	}
	if configuration.Output == "" {
		configuration.Output = "caret-bpf-" + time.Now().Format("20060102-150405")
	}
	return configuration, nil
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

// recordingMessage tells the user where the recording goes.
func recordingMessage(configuration session.Configuration) string {
	if configuration.RingAge > 0 || configuration.RingBytes > 0 {
		return fmt.Sprintf("recording in memory; snapshots go to %s; Ctrl-C stops, and what is in no snapshot is gone", configuration.Output)
	}
	return fmt.Sprintf("recording to %s; Ctrl-C stops", configuration.Output)
}

func record(ctx context.Context, c console, configuration session.Configuration, f *recordFlags) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	controlled, err := newControlled(c, configuration.Output, cancel)
	if err != nil {
		return err
	}
	if f.control != "" {
		listener, err := listenForControl(c, f.control)
		if err != nil {
			return err
		}
		server := control.Serve(listener, controlled, isUnavailable)
		defer func() { _ = server.Close() }() // a socket that stays is replaced by the next one
	}
	options := session.Options{Version: version, Caller: c.caller, Driven: f.control != "", Trusted: []uint32{uint32(c.caller.ID())}}
	options.Costs, _ = knownCosts(c)
	options.Cache, _ = cacheFolder(c.getenv, c.caller) // without one, what is to be known again is found again
	progress := newProgress(c.err, f.quiet)
	manager := newServiceManager(c.getenv)
	defer manager.end()
	var directory *os.File
	options.Observer = session.Observer{
		Rows:     []func(*trace.Batch){controlled.windows.look},
		Created:  func(created *os.File) { directory = created },
		Message:  progress.message,
		Launched: func(group int) { c.launched.Store(int64(group)) },
		Status: func(s session.Status) {
			progress.status(s)
			manager.status(s)
		},
		Armed: func(h *session.Handle) {
			controlled.arm(h)
			manager.ready()
			progress.message("everything is attached; `caret-bpf ctl start` begins the recording, Ctrl-C gives it up")
		},
		Recording: func(h *session.Handle) {
			controlled.arm(h)
			manager.ready()
			progress.message(recordingMessage(configuration))
		},
	}
	uploads, err := beginUploads(c, configuration, progress.message)
	if err != nil {
		return err
	}
	defer uploads.stop()
	if uploads != nil {
		options.Uploads, options.MayGo = uploads.status, uploads.hasArrived
	}
	stopMetrics, err := beginMetrics(c, f.metrics, controlled, &options.Observer)
	if err != nil {
		return err
	}
	defer stopMetrics()
	stopTelling := context.AfterFunc(ctx, func() { progress.message("stopping; again to abort") })
	stopSnapshots := snapshotAtSignals(ctx, controlled, progress.message)
	err = session.Run(ctx, configuration, options)
	stopSnapshots()
	stopTelling()
	if uploads != nil && errors.Is(err, session.ErrFreeSpace) {
		progress.message("too little is left on the disk: a dataset is brought to the lake before this ends; Ctrl-C ends it at once")
		uploads.awaitArrival(ctx, manager.prolong)
	}
	progress.end()
	if directory == nil {
		return err
	}
	defer func() { _ = directory.Close() }()
	if f.quiet {
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
