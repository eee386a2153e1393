package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/report"
)

func graphCommand() command {
	return command{
		name: "graph", arguments: "DATASET… [flags]",
		summary: "show the architecture: nodes, callbacks, topics, services, executors, and what connects them",
		examples: []string{
			"caret-bpf graph rec",
			"caret-bpf graph rec --dot | dot -Tsvg >graph.svg",
			"caret-bpf graph rec --yaml >architecture.yaml",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			forms := map[string]*bool{
				"dot":     flags.Bool("dot", false, "print a graph for Graphviz"),
				"mermaid": flags.Bool("mermaid", false, "print a flowchart for Mermaid"),
				"yaml":    flags.Bool("yaml", false, "print CARET's architecture file, which caret_analyze loads"),
				"json":    flags.Bool("json", false, "print JSON"),
			}
			all := allEntitiesFlag(flags)
			file := architectureFlag(flags)
			attributes := defineAttributeFlag(flags)
			defineWideFlag(flags)
			quiet := quietFlag(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				form := ""
				for name, chosen := range forms {
					if *chosen && form != "" {
						return fmt.Errorf("%w: choose one of --dot, --mermaid, --yaml and --json", errUsage)
					} else if *chosen {
						form = name
					}
				}
				a, err := loadArchitecture(ctx, c, *quiet, arguments, attributes, *file)
				if err != nil {
					return err
				}
				return printArchitecture(c, *quiet, a, form, *all)
			}
		},
	}
}

// printArchitecture prints an architecture in one of the forms. All but those for programs fold what every node has
// unless all entities are asked for.
func printArchitecture(c console, quiet bool, a *system.Architecture, form string, all bool) error {
	switch form {
	case "dot":
		printDot(c.out, drawArchitecture(a, all))
	case "mermaid":
		printMermaid(c.out, drawArchitecture(a, all))
	case "yaml":
		omitted, err := system.Write(c.out, a)
		if err != nil {
			return err
		}
		for _, what := range omitted {
			if !quiet {
				fmt.Fprintln(c.err, "left out:", report.Printable(what))
			}
		}
	case "json":
		return report.WriteJSON(c.out, viewArchitecture(a))
	default:
		printGraph(c.out, a, standardOf(a, all))
	}
	return nil
}

func architectureFlag(flags *pflag.FlagSet) *string {
	return flags.String("architecture", "", "take variable passings, message contexts and named paths from CARET's architecture `FILE`")
}

// loadArchitecture reads the architecture of those of the datasets that have some attributes, and what the file adds to
// it. Warnings go to the console.
func loadArchitecture(
	ctx context.Context, c console, quiet bool, directories []string, attributes *attributeFlags, file string,
) (*system.Architecture, error) {
	if len(directories) == 0 {
		return nil, fmt.Errorf("%w: name a dataset", errUsage)
	}
	chosen, err := attributes.open(ctx, directories)
	if err != nil {
		return nil, err
	}
	a, err := analyze.LoadArchitecture(ctx, newReadProgress(c.err, quiet), chosen[0].datasets...)
	endProgress(c.err, quiet)
	if err != nil {
		return nil, err
	}
	warnings := a.Warnings
	if file != "" {
		missing, err := adoptArchitecture(a, file)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, missing...)
	}
	warn(c, quiet, warnings)
	return a, nil
}

func adoptArchitecture(a *system.Architecture, path string) (missing []string, err error) {
	f, err := openNamed(nil, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	described, err := system.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a.Adopt(described), nil
}
