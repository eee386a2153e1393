package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/fleet"
	"github.com/caret-bpf/caret-bpf/report"
)

// errDiffers is what diff ends with when the recordings differ.
var errDiffers = errors.New("the recordings differ")

func diffCommand() command {
	return command{
		name: "diff", arguments: "DATASET DATASET | --before DATASET... --after DATASET... | --group NAME=KEY=VALUE --group NAME=KEY=VALUE LAKE [flags]",
		summary: "compare recordings: what came and went, and latencies that changed by more than noise",
		examples: []string{
			"caret-bpf diff monday tuesday",
			"caret-bpf diff --before monday rec --after tuesday --all",
			"caret-bpf diff --group A=release=1.8 --group B=release=1.9 lake",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			sides := defineSides(flags)
			groups := defineGroups(flags)
			changes := defineChangeFlags(flags, "")
			all := flags.Bool("all", false, "also show latencies that are not said to have changed")
			quiet := quietFlag(flags)
			output := defineOutputFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if len(groups.texts) > 0 {
					options, err := changes.options(1, 1)
					if err != nil {
						return err
					}
					of, err := groups.check(flags, arguments)
					if err := errors.Join(err, output.check()); err != nil {
						return err
					}
					return groups.run(ctx, c, output, arguments[0], of, fleet.Options{Alpha: options.Alpha, MinChange: options.MinChange}, *all, *quiet)
				}
				before, after, err := sides.of(arguments)
				if err != nil {
					return err
				}
				options, err := changes.options(len(before), len(after))
				switch {
				case err != nil:
					return err
				case flags.Changed("percentile") || flags.Changed("vehicle"):
					return fmt.Errorf("%w: --percentile and --vehicle go with --group", errUsage)
				}
				if err := output.check(); err != nil {
					return err
				}
				former, err := openAll(before)
				if err != nil {
					return err
				}
				latter, err := openAll(after)
				if err != nil {
					return err
				}
				collectSeldom(c)
				options.Progress = newReadProgress(c.err, *quiet)
				difference, err := analyze.Diff(ctx, former, latter, options)
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
		if l.Verdict == significance.Changed || all {
			latencies = append(latencies, l)
		}
	}
	if err := showChanges(c, output, d.Entities, latencies); err != nil || !output.isTable() {
		return err
	}
	fmt.Fprintf(c.out, "%d entities came or went; %d of %d latencies changed by more than noise\n",
		len(d.Entities), d.Count(significance.Changed), len(d.Latencies))
	if short := d.Count(significance.TooShort); short > 0 {
		fmt.Fprintf(c.out, "%d latencies: a recording is too short to tell whether they changed\n", short)
	}
	fmt.Fprintln(c.out, describeNoise(d.Noise))
	return nil
}

// showChanges writes both as tables that an empty line follows, if there are any, and else the latencies alone.
func showChanges[E, L any](c console, output outputFlags, entities []E, latencies []L) error {
	if !output.isTable() {
		return writeRows(c, output, latencies)
	}
	if err := showFollowed(c, output, entities); err != nil {
		return err
	}
	return showFollowed(c, output, latencies)
}

func showFollowed[R any](c console, output outputFlags, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	if err := writeRows(c, output, rows); err != nil {
		return err
	}
	fmt.Fprintln(c.out)
	return nil
}

// describeNoise says what the verdicts rest on, and what they do not know.
func describeNoise(n analyze.NoiseBasis) string {
	fewer := min(n.RecordingsA, n.RecordingsB)
	switch {
	case n.RecordingsA == 1 && n.RecordingsB == 1:
		if !n.AssumedPercent.Valid {
			return "noise from run to run: not known, nothing was compared"
		}
		return fmt.Sprintf("noise from run to run: not known from one recording a side; a standard deviation of %.3g %% was assumed (--run-noise)",
			n.AssumedPercent.Value)
	case fewer == 1:
		return fmt.Sprintf("noise from run to run: estimated from the side with several recordings (%d and %d), taken for both", n.RecordingsA, n.RecordingsB)
	case fewer < n.PermutationRecordings:
		return fmt.Sprintf("noise from run to run: estimated from %d and %d recordings, taken to be normally distributed; from %d a side on, no distribution would have to be",
			n.RecordingsA, n.RecordingsB, n.PermutationRecordings)
	}
	return fmt.Sprintf("noise from run to run: estimated from %d and %d recordings", n.RecordingsA, n.RecordingsB)
}
