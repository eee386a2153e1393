package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/expect"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

// errUnmet is what verify ends with when something is not as it is expected.
var errUnmet = errors.New("not all expectations are met")

// verifyFlags are those of verify.
type verifyFlags struct {
	outputFlags
	file, junit string
	all         bool
	time        *timeFlags
	attributes  *attributeFlags
	quiet       *bool

	live   bool
	socket string
}

func verifyCommand() command {
	return command{
		name: "verify", arguments: "DATASET…|--live --expect FILE [flags]",
		summary: "hold a recording against what is expected of it: rates, times, losses; the exit code says whether all is met",
		examples: []string{
			"caret-bpf verify rec --expect expect.yaml",
			"caret-bpf verify rec --expect expect.yaml --junit verify.xml --quiet",
			"caret-bpf verify --live --last 30s --expect expect.yaml",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := new(verifyFlags)
			flags.StringVarP(&f.file, "expect", "e", "", "the `FILE` with the expectations, which `caret-bpf expect` can make")
			flags.StringVar(&f.junit, "junit", "", "also write a JUnit report to this `FILE`")
			flags.BoolVar(&f.all, "all", false, "also show what is met")
			flags.BoolVar(&f.live, "live", false, "of a recording that goes on and has --control, in place of a dataset")
			flags.StringVar(&f.socket, "socket", "", "with --live: the `PATH` of the recording's --control (default: the only one that `ctl list` shows)")
			f.time = defineTimeFlags(flags)
			f.attributes = defineAttributeFlag(flags)
			f.outputFlags = defineOutputFlags(flags)
			f.quiet = quietFlag(flags)
			return f.run
		},
	}
}

func (f *verifyFlags) run(ctx context.Context, c console, arguments []string) error {
	switch {
	case f.file == "":
		return fmt.Errorf("%w: --expect FILE names what is expected; `caret-bpf expect DATASET` makes a first one", errUsage)
	case f.live != (len(arguments) == 0):
		return fmt.Errorf("%w: name a dataset, several of one system, or --live", errUsage)
	case !f.live && f.socket != "":
		return fmt.Errorf("%w: --socket goes with --live", errUsage)
	}
	_, err := f.time.check()
	if err := errors.Join(err, f.check()); err != nil {
		return err
	}
	expected, err := readExpectations(f.file)
	if err != nil {
		return err
	}
	if !f.live {
		return f.verify(ctx, c, expected, arguments)
	}
	copied, remove, err := f.takeSnapshot(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(f.verify(ctx, c, expected, []string{copied}), remove())
}

func readExpectations(path string) (_ *expect.File, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return expect.Read(path, file, similar)
}

// takeSnapshot copies what a recording has into a dataset, which remove removes. It is made beside the recording: there
// the recorder may write, and need not copy what is on disk. The name is new, so that nothing else is removed.
func (f *verifyFlags) takeSnapshot(ctx context.Context, c console) (directory string, remove func() error, err error) {
	client, err := (&ctlFlags{socket: f.socket}).client(ctx, c)
	if err != nil {
		return "", nil, err
	}
	status, err := client.Status(ctx)
	if err != nil {
		return "", nil, err
	}
	directory = filepath.Join(filepath.Dir(status.Output), ".caret-bpf-verify-"+rand.Text())
	if _, err = client.Snapshot(ctx, control.SnapshotRequest{LastNs: f.time.last.Nanoseconds(), Output: directory, Reason: "caret-bpf verify"}); err != nil {
		return "", nil, err
	}
	return directory, func() error { return c.caller.Run(func() error { return os.RemoveAll(directory) }) }, nil
}

func (f *verifyFlags) verify(ctx context.Context, c console, expected *expect.File, directories []string) error {
	datasets, ask, err := askedOf(ctx, c, f.attributes, f.time, *f.quiet, directories)
	if err != nil {
		return err
	}
	verdicts, warnings, err := expect.Judge(ctx, expected, datasets, ask)
	endProgress(c.err, *f.quiet)
	if err != nil {
		return err
	}
	warn(c, *f.quiet, warnings)
	err = f.show(c, verdicts)
	if f.junit != "" {
		err = errors.Join(f.writeJUnit(c, directories, verdicts, warnings), err)
	}
	return err
}

// askedOf opens datasets, and returns how to ask them.
func askedOf(ctx context.Context, c console, attributes *attributeFlags, times *timeFlags, quiet bool, directories []string) ([]*trace.Dataset, expect.Ask, error) {
	groups, err := attributes.open(ctx, directories)
	if err != nil {
		return nil, nil, err
	}
	datasets := groups[0].datasets
	return datasets, askOf(c, times, quiet, datasets), nil
}

// askOf returns how to ask datasets.
func askOf(c console, times *timeFlags, quiet bool, datasets []*trace.Dataset) expect.Ask {
	q := &question{time: times, quiet: &quiet}
	return func(ctx context.Context) (*analyze.Query, error) {
		return q.prepare(ctx, c, analyze.Filter{}, datasets)
	}
}

func (f *verifyFlags) writeJUnit(c console, directories []string, verdicts []expect.Verdict, warnings []string) error {
	name := "caret-bpf verify " + filepath.Base(directories[0])
	if f.live {
		name = "caret-bpf verify --live"
	}
	var text bytes.Buffer
	if err := expect.WriteJUnit(&text, name, verdicts, warnings); err != nil {
		return err
	}
	if err := wholefile.Write(f.junit, text.Bytes(), 0o640, c.caller); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// show shows what is not met, and what it ends with.
func (f *verifyFlags) show(c console, verdicts []expect.Verdict) error {
	shown := verdicts
	if !f.all {
		shown = slices.DeleteFunc(slices.Clone(verdicts), func(v expect.Verdict) bool { return v.Met })
	}
	unmet := 0
	for _, v := range verdicts {
		if !v.Met {
			unmet++
		}
	}
	if len(shown) > 0 || !f.isTable() {
		if err := writeRows(c, f.outputFlags, shown); err != nil {
			return err
		}
	}
	if f.isTable() {
		fmt.Fprintf(c.out, "%d of %d checks are met\n", len(verdicts)-unmet, len(verdicts))
	}
	if unmet > 0 {
		return errUnmet
	}
	return nil
}
