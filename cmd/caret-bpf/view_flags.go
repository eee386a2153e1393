package main

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/view"
	"github.com/caret-bpf/caret-bpf/web"
)

// viewFlags say what a page is about.
type viewFlags struct {
	*question
	paths    *pathFlags
	baseline []string
	changes  *changeFlags
	// page has the page's files; ok is false without it.
	page func() (files fs.FS, ok bool)
}

func defineViewFlags(flags *pflag.FlagSet) *viewFlags {
	f := &viewFlags{question: &question{of: "event"}, page: web.Page}
	flags.StringArrayVar(&f.nodes, "node", nil, "only nodes whose whole name fits the regular `EXPRESSION`; repeatable")
	f.definePlaces(flags)
	f.attributes = defineAttributeFlag(flags)
	flags.StringArrayVar(&f.baseline, "baseline", nil, "compare with this `DATASET`, as diff does, all of both; repeatable")
	f.changes = defineChangeFlags(flags, "with --baseline: ")
	f.paths = definePathFlags(flags)
	f.quiet = quietFlag(flags)
	return f
}

// open opens what the page is about. progress, which may be nil, is told how much questions have read.
func (f *viewFlags) open(ctx context.Context, c console, directories []string, progress func(read, total int64)) (fs.FS, *view.View, error) {
	if len(directories) == 0 {
		return nil, nil, fmt.Errorf("%w: name a dataset, or several of one system", errUsage)
	}
	given, err := f.time.check()
	if err != nil {
		return nil, nil, err
	}
	page, ok := f.page()
	if !ok {
		return nil, nil, errNoPage
	}
	options := view.Options{
		Version: version, Paths: pathFinder{f.paths}, PathTexts: f.paths.paths, PathFrom: f.paths.from, PathTo: f.paths.to,
		Progress: progress,
	}
	if given {
		options.Part = f.time.within
	}
	if options.Filter, err = f.filter(); err != nil {
		return nil, nil, err
	}
	if options.Diff, err = f.diff(directories); err != nil {
		return nil, nil, err
	}
	groups, err := f.attributes.open(ctx, directories)
	if err != nil {
		return nil, nil, err
	}
	options.Datasets = groups[0].datasets
	if options.Baseline, err = openAll(f.baseline); err != nil {
		return nil, nil, err
	}
	v, err := view.Open(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	return page, v, f.check(ctx, c, v)
}

// diff returns what counts as a change. The error is of usage.
func (f *viewFlags) diff(directories []string) (analyze.DiffOptions, error) {
	for _, name := range changeFlagNames {
		if len(f.baseline) == 0 && f.changes.flags.Changed(name) {
			return analyze.DiffOptions{}, fmt.Errorf("%w: --%s goes with --baseline", errUsage, name)
		}
	}
	return f.changes.options(len(f.baseline), len(directories))
}

// check says at once what of the flags fits nothing: a page would be empty.
func (f *viewFlags) check(ctx context.Context, c console, v *view.View) error {
	var misfits []string
	for _, m := range v.Misfits() {
		misfits = append(misfits, explain(m))
	}
	if len(misfits) > 0 && len(misfits) == len(f.nodes)+len(f.processes) {
		return withMisfits(analyze.ErrNothingSelected, misfits)
	}
	warn(c, *f.quiet, misfits)
	if len(f.paths.paths) == 0 && f.paths.from == "" && f.paths.to == "" && *f.paths.architecture == "" {
		return nil
	}
	return v.CheckPaths(ctx)
}

// pathFinder finds the paths that a page asks for as the flags say.
type pathFinder struct{ flags *pathFlags }

// Adopt takes what the flags say of contexts.
func (p pathFinder) Adopt(q *analyze.Query) error { return p.flags.adopt(q) }

// Find returns the paths that texts name, and those from and to a topic or node.
func (p pathFinder) Find(ctx context.Context, q *analyze.Query, texts []string, from, to string) ([]*system.Path, error) {
	asked := *p.flags
	asked.paths, asked.from, asked.to = texts, from, to
	return asked.locate(ctx, q)
}

// Options are those of the flags.
func (p pathFinder) Options() analyze.PathOptions { return p.flags.options() }
