package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/ctf"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

func exportCTFCommand() command {
	return command{
		name: "ctf", arguments: "DATASET -o DIR [flags]", summary: "a trace for caret_analyze, babeltrace2 and Trace Compass, as LTTng writes them",
		examples: []string{
			"caret-bpf export ctf rec -o trace/ctf",
			"caret-bpf export ctf rec -o trace/ctf --last 10s",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			e := ctfExport{question: &question{of: "event"}}
			flags.StringVarP(&e.path, "output", "o", "", "make this `DIRECTORY` with the trace")
			e.definePlaces(flags)
			e.quiet = quietFlag(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				return e.run(ctx, c, arguments)
			}
		},
	}
}

// ctfExport is what the flags say of an export.
type ctfExport struct {
	*question
	path string
}

func (e *ctfExport) run(ctx context.Context, c console, arguments []string) error {
	switch {
	case len(arguments) != 1:
		return fmt.Errorf("%w: name one dataset", errUsage)
	case e.path == "":
		return fmt.Errorf("%w: name the directory to make with -o", errUsage)
	}
	d, err := trace.Open(trace.Locate(arguments[0]))
	if err != nil {
		return err
	}
	collectSeldom(c)
	query, err := analyze.NewQuery(ctx, analyze.Filter{}, d)
	if err != nil {
		return err
	}
	options := ctf.Options{Processes: e.processes, As: c.caller}
	if options.Span, _, err = e.part(ctx, query); err != nil {
		return err
	}
	summary, err := ctf.Write(ctx, e.path, d, options)
	for _, damaged := range summary.Damaged {
		if text := damaged.Error(); !slices.Contains(query.Warnings, text) {
			query.Warnings = append(query.Warnings, text)
		}
	}
	warn(c, *e.quiet, query.Warnings)
	if err != nil {
		return err
	}
	if *e.quiet {
		return nil
	}
	for _, what := range slices.Sorted(maps.Keys(summary.LeftOut)) {
		fmt.Fprintf(c.err, "left out: %d times %s\n", summary.LeftOut[what], what)
	}
	if summary.Hits == 0 {
		fmt.Fprintln(c.err, e.describeNothing())
	}
	fmt.Fprintf(c.err, "wrote %s: %d events, of which %d are synthesised; %.1f MB\n", report.Printable(e.path), summary.Events, summary.Synthesised, float64(summary.Bytes)/1e6)
	return nil
}
