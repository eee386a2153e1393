package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/forward"
	"github.com/caret-bpf/caret-bpf/report"
)

const (
	// forwardInterval is how often new datasets are looked for.
	forwardInterval = 10 * time.Second
	// notesFolder is where what has arrived is noted, in the folder of the datasets.
	notesFolder = ".forward"
)

func forwardCommand() command {
	return command{
		name: "forward", arguments: "FOLDER --to DIRECTORY|s3://BUCKET/PREFIX [flags]",
		summary: "put each finished recording of a folder into a lake, also after days without a network",
		examples: []string{
			"caret-bpf forward /var/lib/caret-bpf --to s3://fleet/recordings --bandwidth 1M",
			"caret-bpf forward recordings --to /mnt/lake --delete-after 48h",
			"caret-bpf forward recordings --to s3://fleet/recordings --once",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineForwardFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error { return f.run(ctx, c, arguments) }
		},
	}
}

// forwardFlags are what the flags say of forwarding.
type forwardFlags struct {
	lakeFlags
	bandwidth   diskSize
	interval    time.Duration
	state       string
	once, json  bool
	deleteAfter *time.Duration
}

func defineForwardFlags(flags *pflag.FlagSet) *forwardFlags {
	f := new(forwardFlags)
	f.define(flags)
	flags.Var(&f.bandwidth, "bandwidth", "send at most this `SIZE` a second to object storage, such as 1M (default: no limit)")
	flags.BoolVar(&f.once, "once", false, "end when each recording was attempted once")
	flags.DurationVar(&f.interval, "interval", forwardInterval, "look for new recordings after each `TIME`")
	flags.StringVar(&f.state, "state", "", "note what has arrived in this `DIRECTORY` (default .forward in FOLDER)")
	flags.Var(optionalTime{&f.deleteAfter}, "delete-after", "delete a recording when it has arrived and this `TIME` has passed, such as 48h or 0s (default: keep all)")
	flags.BoolVar(&f.json, "json", false, "print each new status as a line of JSON")
	f.definePaths(flags)
	f.quiet = quietFlag(flags)
	return f
}

func (f *forwardFlags) run(ctx context.Context, c console, arguments []string) (err error) {
	if len(arguments) != 1 {
		return fmt.Errorf("%w: name one folder that has recordings", errUsage)
	}
	if err := f.check(); err != nil {
		return err
	}
	options, err := f.forwarding(c, arguments[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.forRecorder {
		tellRecorder(rawOutput{c.out}, &options)
		go func() { // a recorder that is killed closes it, too
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	forwarder, err := forward.New(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, forwarder.Close()) }()
	collectSeldom(c)
	if f.once {
		return forwarder.Once(ctx)
	}
	_ = forwarder.Run(ctx) // it ends when it is interrupted
	return nil
}

func (f *forwardFlags) check() error {
	if f.interval <= 0 {
		return fmt.Errorf("%w: --interval must be positive", errUsage)
	}
	if f.bandwidth > 0 {
		if err := checkBandwidth("--bandwidth", int64(f.bandwidth), f.to); err != nil {
			return err
		}
	}
	return f.lakeFlags.check()
}

// forwarding is what the flags ask for.
func (f *forwardFlags) forwarding(c console, folder string) (forward.Options, error) {
	info, err := os.Stat(folder)
	if err != nil || !info.IsDir() {
		return forward.Options{}, errors.Join(fmt.Errorf("%w: %s is no folder", errUsage, folder), err)
	}
	of, err := f.options(c)
	if err != nil {
		return forward.Options{}, err
	}
	of.Bandwidth = int64(f.bandwidth)
	request, err := f.request(c)
	if err != nil {
		return forward.Options{}, err
	}
	options := forward.Options{
		Folder: folder, State: f.state, To: f.to, Request: request, As: c.caller, Interval: f.interval,
		DeleteAfter: f.deleteAfter,
		Open:        func(ctx context.Context) (forward.Lake, error) { return lake.Open(ctx, f.to, of) },
	}
	if options.State == "" {
		options.State = filepath.Join(folder, notesFolder)
	}
	f.show(c, &options)
	return options, nil
}

// show has what happens printed.
func (f *forwardFlags) show(c console, options *forward.Options) {
	last := ""
	options.Message = func(text string) {
		endProgress(c.err, *f.quiet)
		if !*f.quiet {
			fmt.Fprintln(c.err, report.Printable(text))
		}
	}
	options.Tell = func(now forward.Status) {
		text := now.String()
		if f.json {
			line, err := json.Marshal(now)
			if err != nil {
				return // it has nothing that cannot be encoded
			}
			text = string(line)
		}
		if text == last || *f.quiet && !f.json {
			return
		}
		last = text
		if f.json {
			fmt.Fprintln(c.out, text)
			return
		}
		endProgress(c.err, *f.quiet)
		fmt.Fprintln(c.err, report.Printable(text))
	}
}
