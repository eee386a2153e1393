package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/view"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

func reportCommand() command {
	return command{
		name: "report", arguments: "DATASET… -o FILE [flags]", summary: "write what `view` shows to one file that opens without a server",
		examples: []string{
			"caret-bpf report rec -o report.html",
			"caret-bpf report rec -o report.html --last 10s --from /points --to /control",
			"caret-bpf report tuesday --baseline monday -o report.html",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			path := flags.StringP("output", "o", "", "write to this `FILE`; - is standard output")
			f := defineViewFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				switch {
				case *path == "":
					return fmt.Errorf("%w: name the file to write with -o", errUsage)
				case *path == "-" && c.out.terminal() != nil:
					return fmt.Errorf("%w: a report is not for a terminal: name a file with -o, or redirect the output", errUsage)
				}
				page, v, err := f.open(ctx, c, arguments, newReadProgress(c.err, *f.quiet))
				if err != nil {
					return err
				}
				summary, err := writeReport(ctx, c, v, page, *path)
				endProgress(c.err, *f.quiet)
				if err != nil {
					return err
				}
				tellReport(c, *f.quiet, *path, summary)
				return nil
			}
		},
	}
}

// writeReport writes a report to a file that is whole or not there.
func writeReport(ctx context.Context, c console, v *view.View, page fs.FS, path string) (view.ReportSummary, error) {
	if path == "-" {
		return view.WriteReport(ctx, rawOutput{c.out}, v, page, view.ReportBytes)
	}
	file, err := wholefile.Create(path, 0o640, c.caller)
	if err != nil {
		return view.ReportSummary{}, fmt.Errorf("write report: %w", err)
	}
	summary, err := view.WriteReport(ctx, file, v, page, view.ReportBytes)
	if err != nil {
		return summary, errors.Join(err, file.Discard())
	}
	if err := file.Commit(); err != nil {
		return summary, fmt.Errorf("write report: %w", err)
	}
	return summary, nil
}

// tellReport says on the side what a report has.
func tellReport(c console, quiet bool, path string, summary view.ReportSummary) {
	if quiet {
		return
	}
	where := "wrote " + report.Printable(path)
	if path == "-" {
		where = "wrote"
	}
	fmt.Fprintf(c.err, "%s: %d answers, %d parts of the timeline; %.1f MB\n", where, summary.Answers, summary.Tiles, float64(summary.Bytes)/1e6)
	if summary.Omitted {
		fmt.Fprintln(c.err, "not everything is in it: `caret-bpf view` shows all; --last, --from-time, --to-time and --node leave more room")
	}
}
