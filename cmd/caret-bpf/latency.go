package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// latencyCommand is the group of the questions for latencies.
func latencyCommand() command {
	return command{
		name: "latency", arguments: "callback|communication|node|path|service|response-time DATASET… [flags]",
		summary: "how long callbacks, messages, nodes, paths and services took, and what was lost",
		examples: []string{
			"caret-bpf latency callback rec",
			"caret-bpf latency communication rec --topic /points",
			"caret-bpf latency path rec --from /points --to /control",
		},
		subcommands: []command{
			latencyCallbackCommand(), latencyCommunicationCommand(), latencyNodeCommand(), latencyPathCommand(), latencyServiceCommand(), responseTimeCommand(),
		},
	}
}

// contextFlags say which input of a node an output belongs to.
type contextFlags struct {
	architecture *string
	latest       bool
	everyStart   bool
	noFusion     bool
}

func defineContextFlags(flags *pflag.FlagSet) *contextFlags {
	f := new(contextFlags)
	f.architecture = architectureFlag(flags)
	flags.BoolVar(&f.latest, "use-latest-message", false, "where nothing tells which input an output belongs to, take the latest message received")
	flags.BoolVar(&f.everyStart, "every-start", false, "in a chain of callbacks, join every start with the last end of the callback before, as caret_analyze does")
	flags.BoolVar(&f.noFusion, "no-fusion", false, "do not infer that a node makes its messages of the newest one of several inputs")
	return f
}

func (f *contextFlags) options() analyze.LinkOptions {
	return analyze.LinkOptions{Latest: f.latest, EveryStart: f.everyStart}
}

// adopt takes from the architecture file what no recording shows, and leaves out what is inferred if that is asked for.
func (f *contextFlags) adopt(query *analyze.Query) error {
	if f.noFusion {
		for _, n := range query.Architecture.Nodes {
			n.InferredContexts = nil
		}
	}
	if *f.architecture == "" {
		return nil
	}
	missing, err := adoptArchitecture(query.Architecture, *f.architecture)
	query.Warnings = append(query.Warnings, missing...)
	return err
}

// pathFlags name paths.
type pathFlags struct {
	*contextFlags
	from, to                    string
	paths                       []string
	firstCallback, lastCallback bool
}

func definePathFlags(flags *pflag.FlagSet) *pathFlags {
	f := defineNamedPathFlags(flags)
	flags.StringVar(&f.from, "from", "", "all paths from this `TOPIC` or node")
	flags.StringVar(&f.to, "to", "", "all paths to this `TOPIC` or node")
	return f
}

// defineNamedPathFlags is for what takes paths that are named one by one.
func defineNamedPathFlags(flags *pflag.FlagSet) *pathFlags {
	f := new(pathFlags)
	flags.StringArrayVar(&f.paths, "path", nil, "this `PATH`: [node]-[topic]-[node], or one that the architecture file names; repeatable")
	flags.BoolVar(&f.firstCallback, "include-first-callback", false, "begin with the start of the callback that publishes first, not with its publish")
	flags.BoolVar(&f.lastCallback, "include-last-callback", false, "end with the end of the callback that the last message starts, not with its start")
	f.contextFlags = defineContextFlags(flags)
	return f
}

func (f *pathFlags) options() analyze.PathOptions {
	return analyze.PathOptions{LinkOptions: f.contextFlags.options(), FirstCallback: f.firstCallback, LastCallback: f.lastCallback}
}

// passable are those of the paths that a text means of which it is known how messages get through all nodes, if there
// are any: a node may have further subscriptions or publishers of the same topics.
func (f *pathFlags) passable(query *analyze.Query, text string, paths []*system.Path) []*system.Path {
	isUndefined := func(p *system.Path) bool { return p.UndefinedNodes() > 0 }
	defined := slices.DeleteFunc(slices.Clone(paths), isUndefined)
	left := len(paths) - len(defined)
	if f.latest || left == 0 || len(defined) == 0 {
		return paths
	}
	query.Warnings = append(query.Warnings, fmt.Sprintf("%d of the %d paths %s are left out: nothing tells how messages get through their nodes; --use-latest-message takes them",
		left, len(paths), text))
	return defined
}

// find returns the paths.
func (f *pathFlags) find(ctx context.Context, query *analyze.Query) ([]*system.Path, error) {
	if len(f.paths) == 0 && f.from == "" && f.to == "" {
		return nil, fmt.Errorf("%w: name paths with --from and --to, or with --path; `caret-bpf paths` lists them", errUsage)
	}
	if err := query.LoadActivity(ctx); err != nil {
		return nil, err
	}
	if err := f.adopt(query); err != nil {
		return nil, err
	}
	return f.locate(ctx, query)
}

// locate is find in an architecture that is complete.
func (f *pathFlags) locate(ctx context.Context, query *analyze.Query) ([]*system.Path, error) {
	var paths []*system.Path
	for _, text := range f.paths {
		named, err := query.Architecture.FindPaths(text)
		if err != nil {
			return nil, suggestNames(err, query.Architecture, text)
		}
		paths = system.AddPaths(paths, f.passable(query, text, named))
	}
	if f.from == "" && f.to == "" {
		return paths, nil
	}
	found, complete, err := query.Architecture.Paths(ctx, system.PathQuery{From: f.from, To: f.to, Undefined: f.latest})
	if err != nil {
		return nil, suggestNames(err, query.Architecture, f.from, f.to)
	}
	if !complete {
		query.Warnings = append(query.Warnings, "there are more paths: name both --from and --to, or --path")
	}
	if paths = system.AddPaths(paths, found); len(paths) == 0 {
		return nil, fmt.Errorf("%w: no path leads from %q to %q; nodes that publish in other callbacks than those that receive are passed with --use-latest-message or --architecture FILE",
			analyze.ErrNothingSelected, f.from, f.to)
	}
	return paths, nil
}
