package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/trace"
)

func publishCommand() command {
	return command{
		name: "publish", arguments: "DATASET… --to DIRECTORY|s3://BUCKET/PREFIX [flags]",
		summary: "put recordings into a lake, where Spark, DuckDB, Trino and others read many",
		examples: []string{
			"caret-bpf publish rec --to lake",
			"caret-bpf publish monday tuesday --to lake --partition date --partition vehicle --partition route",
			"caret-bpf publish --verify --to lake",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			p := definePublishFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				return p.run(ctx, c, arguments)
			}
		},
	}
}

// publishFlags are what the flags say of publishing.
type publishFlags struct {
	lakeFlags
	replace, verify bool
	output          outputFlags
}

func definePublishFlags(flags *pflag.FlagSet) *publishFlags {
	p := new(publishFlags)
	p.define(flags)
	flags.BoolVar(&p.replace, "replace", false, "publish anew what is in the lake already, with other paths for instance")
	flags.BoolVar(&p.verify, "verify", false, "publish nothing: read what is in the lake, of these recordings or of all, and compare checksums")
	p.definePaths(flags)
	p.output = defineOutputFlags(flags)
	p.quiet = quietFlag(flags)
	return p
}

// publishedRow says what became of a recording.
type publishedRow struct {
	Dataset   string `report:"dataset,prose"`
	Recording string `report:"recording_id"`
	// Outcome is published, already_there or failed.
	Outcome string `report:"outcome"`
	Files   int64  `report:"files,drop=1"`
	Rows    int64  `report:"rows"`
	Bytes   int64  `report:"bytes,drop=2"`
}

func (p *publishFlags) run(ctx context.Context, c console, arguments []string) (err error) {
	if len(arguments) == 0 && !p.verify {
		return fmt.Errorf("%w: name the datasets to publish", errUsage)
	}
	if err := errors.Join(p.check(), p.output.check()); err != nil {
		return err
	}
	if err := refuseRepeated(arguments); err != nil {
		return err
	}
	datasets, err := openAll(arguments)
	if err != nil {
		return err
	}
	options, err := p.options(c)
	if err != nil && !p.verify {
		return err
	}
	options.ReadOnly = p.verify
	l, err := lake.Open(ctx, p.to, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if p.verify {
		return p.verifyLake(ctx, c, l, datasets)
	}
	return p.publish(ctx, c, l, datasets)
}

// publish publishes one recording after the other. One that cannot be published does not keep others from it, unless it
// is for the lake's sake.
func (p *publishFlags) publish(ctx context.Context, c console, l *lake.Lake, datasets []*trace.Dataset) error {
	request, err := p.request(c)
	if err != nil {
		return err
	}
	request.Replace = p.replace
	collectSeldom(c)
	var rows []publishedRow
	var failed []error
	for _, d := range datasets {
		result, err := l.Publish(ctx, d, request)
		endProgress(c.err, *p.quiet)
		warn(c, *p.quiet, result.Warnings)
		row := publishedRow{Dataset: d.Dir(), Recording: result.Recording, Outcome: "published", Files: result.Files, Rows: result.Rows, Bytes: result.Bytes}
		switch {
		case err != nil:
			row.Outcome = "failed"
			failed = append(failed, err)
		case result.Already:
			row.Outcome = "already_there"
		}
		rows = append(rows, row)
		if ctx.Err() != nil || errors.Is(err, lake.ErrUnwritable) || errors.Is(err, lake.ErrUnreachable) {
			break
		}
	}
	return errors.Join(append([]error{writeRows(c, p.output, rows)}, failed...)...)
}

// verifyLake compares what is in the lake with the manifests.
func (p *publishFlags) verifyLake(ctx context.Context, c console, l *lake.Lake, datasets []*trace.Dataset) error {
	var recordings []string
	for _, d := range datasets {
		id, err := lake.RecordingID(ctx, d)
		if err != nil {
			return err
		}
		recordings = append(recordings, id)
	}
	verified, err := l.Verify(ctx, recordings...)
	if err != nil {
		return err
	}
	if !*p.quiet {
		fmt.Fprintf(c.err, "read %d files of %d recordings, %.1f MB\n", verified.Files, verified.Recordings, float64(verified.Bytes)/1e6)
	}
	var problems []error
	for _, problem := range verified.Problems {
		problems = append(problems, fmt.Errorf("%w: %s", lake.ErrDiffers, problem))
	}
	return errors.Join(problems...)
}
