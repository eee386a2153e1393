package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
)

// errDiffers is what diff ends with when the recordings differ.
var errDiffers = errors.New("the recordings differ")

func diffCommand() command {
	return command{
		name: "diff", arguments: "DATASET DATASET [flags]",
		summary: "compare two recordings: what came and went, and latencies that changed by more than noise",
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			var options analyze.DiffOptions
			flags.Float64Var(&options.Alpha, "alpha", 0.01, "`PROBABILITY` of calling anything changed in two recordings of the same system")
			percent := flags.Float64("min-change", 5, "least change of a median that counts, in `PERCENT`")
			all := flags.Bool("all", false, "also show latencies that did not change")
			quiet := quietFlag(flags)
			output := defineOutputFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				switch {
				case len(arguments) != 2:
					return fmt.Errorf("%w: name two datasets", errUsage)
				case options.Alpha <= 0 || options.Alpha >= 1 || *percent <= 0:
					return fmt.Errorf("%w: --alpha is between 0 and 1, --min-change positive", errUsage)
				}
				if err := output.check(); err != nil {
					return err
				}
				options.MinChange = *percent / 100
				var datasets [2]*trace.Dataset
				for i := range datasets {
					var err error
					if datasets[i], err = trace.Open(arguments[i]); err != nil {
						return err
					}
				}
				options.Progress = newReadProgress(c.err, *quiet)
				difference, err := analyze.Diff(ctx, datasets[0], datasets[1], options)
				endProgress(c.err, *quiet)
				if err != nil {
					return err
				}
				warn(c, *quiet, difference.Warnings)
				err = showDifference(c, output, difference, *all)
				if difference.Differs() {
					err = errors.Join(err, errDiffers)
				}
				return err
			}
		},
	}
}

func showDifference(c console, output outputFlags, d *analyze.Difference, all bool) error {
	if *output.json {
		return report.WriteJSON(c.out, d)
	}
	var latencies []analyze.LatencyChange
	for _, l := range d.Latencies {
		if l.Exceeds || all {
			latencies = append(latencies, l)
		}
	}
	if *output.csv || *output.parquet != "" {
		return writeRows(c, output, latencies)
	}
	if len(d.Entities) > 0 {
		if err := writeRows(c, output, d.Entities); err != nil {
			return err
		}
		fmt.Fprintln(c.out)
	}
	if len(latencies) > 0 {
		if err := writeRows(c, output, latencies); err != nil {
			return err
		}
		fmt.Fprintln(c.out)
	}
	changed := 0
	for _, l := range d.Latencies {
		if l.Exceeds {
			changed++
		}
	}
	fmt.Fprintf(c.out, "%d entities came or went; %d of %d latencies changed by more than noise\n", len(d.Entities), changed, len(d.Latencies))
	return nil
}
