package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze/system"
)

// pathRow is a path as `paths` shows it.
type pathRow struct {
	Number int `report:"number"`
	Nodes  int `report:"nodes,drop=4"`
	// Undefined is the number of its nodes that nobody said how messages get through.
	Undefined int `report:"undefined_nodes,drop=2"`
	// Inferred is the number of those of which that is only inferred.
	Inferred int    `report:"inferred_nodes,drop=1"`
	Name     string `report:"path_name"`
	Path     string `report:"path,prose"`
}

func pathsCommand() command {
	return command{
		name: "paths", arguments: "DATASET… [flags]",
		summary: "list the paths of messages through nodes",
		examples: []string{
			"caret-bpf paths rec",
			"caret-bpf paths rec --from /points --to /control",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			var query system.PathQuery
			flags.StringVar(&query.From, "from", "", "only paths from this `TOPIC` or node")
			flags.StringVar(&query.To, "to", "", "only paths to this `TOPIC` or node")
			flags.BoolVar(&query.Undefined, "undefined", false, "also paths through nodes of which nothing tells which input an output belongs to")
			flags.IntVar(&query.Limit, "limit", system.DefaultPathLimit, "`NUMBER` of paths at most")
			flags.IntVar(&query.Nodes, "max-nodes", system.DefaultPathNodes, "`NUMBER` of nodes of a path at most")
			file := architectureFlag(flags)
			attributes := defineAttributeFlag(flags)
			output := defineOutputFlags(flags)
			quiet := quietFlag(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if query.Limit <= 0 || query.Nodes <= 0 {
					return fmt.Errorf("%w: --limit and --max-nodes must be positive", errUsage)
				}
				if err := output.check(); err != nil {
					return err
				}
				a, err := loadArchitecture(ctx, c, *quiet, arguments, attributes, *file)
				if err != nil {
					return err
				}
				return listPaths(ctx, c, *quiet, a, query, output)
			}
		},
	}
}

func listPaths(ctx context.Context, c console, quiet bool, a *system.Architecture, query system.PathQuery, output outputFlags) error {
	paths, complete, err := a.Paths(ctx, query)
	if err != nil {
		return suggestNames(err, a, query.From, query.To)
	}
	if query.From == "" && query.To == "" {
		paths = append(a.NamedPaths[:len(a.NamedPaths):len(a.NamedPaths)], paths...)
	}
	var rows []pathRow
	for i, p := range paths {
		rows = append(rows, pathRow{Number: i + 1, Nodes: len(p.Nodes), Undefined: p.UndefinedNodes(), Inferred: p.InferredNodes(), Name: p.Name, Path: p.String()})
	}
	if err := writeRows(c, output, rows); err != nil {
		return err
	}
	if !complete && !quiet {
		fmt.Fprintf(c.err, "there are more paths: name --from and --to, or a higher --limit or --max-nodes\n")
	}
	if len(paths) == 0 && !quiet {
		fmt.Fprintln(c.err, whyNoPath(query))
	}
	return nil
}

// whyNoPath says how there may be paths.
func whyNoPath(query system.PathQuery) string {
	switch {
	case !query.Undefined:
		return "no path; nodes that publish in other callbacks than those that receive are passed with --undefined, or --architecture FILE with variable passings"
	case query.From == "" || query.To == "":
		return "no path; messages may go in a circle, which has no begin and no end: name both with --from and --to"
	}
	return "no path"
}
