package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
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
	to, staging              string
	keys                     []string
	damaged, replace, verify bool
	patience                 time.Duration
	paths                    *pathFlags
	output                   outputFlags
	quiet                    *bool
}

func definePublishFlags(flags *pflag.FlagSet) *publishFlags {
	p := new(publishFlags)
	flags.StringVar(&p.to, "to", "", "the lake: a `DIRECTORY`, or s3://BUCKET/PREFIX")
	flags.StringArrayVar(&p.keys, "partition", lake.DefaultKeys, "a `KEY` whose values have folders of their own: date, or an attribute of recordings; repeatable, in their order")
	flags.BoolVar(&p.damaged, "damaged", false, "publish what can be read of a damaged recording")
	flags.BoolVar(&p.replace, "replace", false, "publish anew what is in the lake already, with other paths for instance")
	flags.BoolVar(&p.verify, "verify", false, "publish nothing: read what is in the lake, of these recordings or of all, and compare checksums")
	flags.StringVar(&p.staging, "staging", "", "make files for object storage in this `DIRECTORY`, not in the user's cache")
	flags.DurationVar(&p.patience, "patience", lake.DefaultPatience, "ask object storage that does not answer again for this `TIME`")
	p.paths = defineNamedPathFlags(flags)
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
	switch {
	case p.to == "":
		return fmt.Errorf("%w: name the lake with --to: a directory, or s3://BUCKET/PREFIX", errUsage)
	case len(arguments) == 0 && !p.verify:
		return fmt.Errorf("%w: name the datasets to publish", errUsage)
	case p.patience <= 0:
		return fmt.Errorf("%w: --patience must be positive", errUsage)
	}
	if err := errors.Join(p.output.check(), lake.CheckKeys(p.keys)); err != nil {
		return err
	}
	if err := refuseRepeated(arguments); err != nil {
		return err
	}
	datasets, err := openAll(arguments)
	if err != nil {
		return err
	}
	options := lake.Options{As: c.caller, Staging: p.staging, Patience: p.patience, ReadOnly: p.verify}
	if options.Staging == "" {
		folder, err := cacheFolder(c.getenv, c.caller)
		if err != nil && strings.HasPrefix(p.to, "s3://") && !p.verify {
			return fmt.Errorf("%w: no cache folder is known: name one with --staging", errUsage)
		}
		options.Staging = filepath.Join(folder, "publish")
	}
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

func (p *publishFlags) request(c console) (lake.Request, error) {
	request := lake.Request{Keys: p.keys, Damaged: p.damaged, Replace: p.replace, Progress: newReadProgress(c.err, *p.quiet), PathOptions: p.paths.options()}
	if len(p.paths.paths) == 0 && *p.paths.architecture == "" {
		return request, nil
	}
	request.Paths = p.findPaths
	asked := struct {
		Paths                        []string `json:"paths,omitempty"`
		Architecture                 string   `json:"architecture_sha256,omitempty"`
		Latest, EveryStart, NoFusion bool
		FirstCallback, LastCallback  bool
	}{
		Paths: p.paths.paths, Latest: p.paths.latest, EveryStart: p.paths.everyStart, NoFusion: p.paths.noFusion,
		FirstCallback: p.paths.firstCallback, LastCallback: p.paths.lastCallback,
	}
	if file := *p.paths.architecture; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return request, err
		}
		asked.Architecture = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	text, err := json.Marshal(asked)
	request.PathsAsked = string(text)
	return request, err
}

// findPaths returns the paths that are named or, if none is, all that the architecture file names. Not every recording
// of a fleet has them all.
func (p *publishFlags) findPaths(ctx context.Context, query *analyze.Query) ([]*system.Path, error) {
	if err := query.LoadActivity(ctx); err != nil {
		return nil, err
	}
	if err := p.paths.adopt(query); err != nil {
		return nil, err
	}
	names := p.paths.paths
	if len(names) == 0 {
		for _, path := range query.Architecture.NamedPaths {
			names = append(names, path.Name)
		}
	}
	var paths []*system.Path
	for _, name := range names {
		named, err := query.Architecture.FindPaths(name)
		if errors.Is(err, system.ErrNoSuchName) {
			query.Warnings = append(query.Warnings, fmt.Sprintf("the recording has no path %s: path_fact and hop_fact have nothing of it", name))
			continue
		}
		if err != nil {
			return nil, err
		}
		paths = system.AddPaths(paths, p.paths.passable(query, name, named))
	}
	return paths, nil
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
