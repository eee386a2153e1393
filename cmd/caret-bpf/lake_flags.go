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
)

// lakeFlags are what the flags say of a lake, and how recordings are put into it.
type lakeFlags struct {
	to, staging string
	keys        []string
	damaged     bool
	patience    time.Duration
	paths       *pathFlags
	quiet       *bool
}

// define adds the flags of which lake that is.
func (f *lakeFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.to, "to", "", "the lake: a `DIRECTORY`, or s3://BUCKET/PREFIX")
	flags.StringArrayVar(&f.keys, "partition", lake.DefaultKeys, "a `KEY` whose values have folders of their own: date, or an attribute of recordings; repeatable, in their order")
	flags.BoolVar(&f.damaged, "damaged", false, "publish what can be read of a damaged recording")
}

// definePaths adds the flags of how it is used, and of the paths of path_fact.
func (f *lakeFlags) definePaths(flags *pflag.FlagSet) {
	flags.StringVar(&f.staging, "staging", "", "make files for object storage in this `DIRECTORY`, not in the user's cache")
	flags.DurationVar(&f.patience, "patience", lake.DefaultPatience, "ask object storage that does not answer again for this `TIME`")
	f.paths = defineNamedPathFlags(flags)
}

func (f *lakeFlags) check() error {
	switch {
	case f.to == "":
		return fmt.Errorf("%w: name the lake with --to: a directory, or s3://BUCKET/PREFIX", errUsage)
	case f.patience <= 0:
		return fmt.Errorf("%w: --patience must be positive", errUsage)
	}
	return errors.Join(lake.Check(f.to), lake.CheckKeys(f.keys))
}

// isObjectStorage tells such a lake from one in a directory.
func isObjectStorage(lake string) bool { return strings.HasPrefix(lake, "s3://") }

// checkBandwidth checks a limit of bandwidth, in bytes a second, that a flag has for a lake.
func checkBandwidth(flag string, rate int64, to string) error {
	switch {
	case rate < lake.MinBandwidth:
		return fmt.Errorf("%w: %s: less than 1K a second is too little", errUsage, flag)
	case to != "" && !isObjectStorage(to):
		return fmt.Errorf("%w: %s is for object storage: how fast a directory is written is up to its file system", errUsage, flag)
	}
	return nil
}

// options are how the lake is opened. The error is for who puts something into it.
func (f *lakeFlags) options(c console) (lake.Options, error) {
	options := lake.Options{As: c.caller, Staging: f.staging, Patience: f.patience}
	if options.Staging != "" {
		return options, nil
	}
	folder, err := cacheFolder(c.getenv, c.caller)
	if err != nil && isObjectStorage(f.to) {
		return options, fmt.Errorf("%w: no cache folder is known: name one with --staging", errUsage)
	}
	options.Staging = filepath.Join(folder, "publish")
	return options, nil
}

func (f *lakeFlags) request(c console) (lake.Request, error) {
	request := lake.Request{Keys: f.keys, Damaged: f.damaged, Progress: newReadProgress(c.err, *f.quiet), PathOptions: f.paths.options()}
	if len(f.paths.paths) == 0 && *f.paths.architecture == "" {
		return request, nil
	}
	request.Paths = f.findPaths
	asked := struct {
		Paths                        []string `json:"paths,omitempty"`
		Architecture                 string   `json:"architecture_sha256,omitempty"`
		Latest, EveryStart, NoFusion bool
		FirstCallback, LastCallback  bool
	}{
		Paths: f.paths.paths, Latest: f.paths.latest, EveryStart: f.paths.everyStart, NoFusion: f.paths.noFusion,
		FirstCallback: f.paths.firstCallback, LastCallback: f.paths.lastCallback,
	}
	if file := *f.paths.architecture; file != "" {
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
func (f *lakeFlags) findPaths(ctx context.Context, query *analyze.Query) ([]*system.Path, error) {
	if err := query.LoadActivity(ctx); err != nil {
		return nil, err
	}
	if err := f.paths.adopt(query); err != nil {
		return nil, err
	}
	names := f.paths.paths
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
		paths = system.AddPaths(paths, f.paths.passable(query, name, named))
	}
	return paths, nil
}
