package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze/significance"
	"github.com/caret-bpf/caret-bpf/fleet"
	"github.com/caret-bpf/caret-bpf/report"
)

// groupFlags are those of diff that compare groups of the recordings of a lake.
type groupFlags struct {
	texts      []string
	percentile float64
	vehicle    string
}

func defineGroups(flags *pflag.FlagSet) *groupFlags {
	g := new(groupFlags)
	flags.StringArrayVar(&g.texts, "group", nil, "compare recordings of a lake: `NAME=KEY=VALUE,…` are those with these attributes; twice, the former group first")
	flags.Float64Var(&g.percentile, "percentile", 50, "with --group: the `PERCENTILE` of each recording that is compared")
	flags.StringVar(&g.vehicle, "vehicle", "vehicle", "with --group: the attribute `KEY` that tells of which vehicle a recording is")
	return g
}

// check returns the groups. The error is of usage.
func (g *groupFlags) check(flags *pflag.FlagSet, arguments []string) (groups [2]fleet.Group, err error) {
	switch {
	case len(g.texts) != 2:
		return groups, fmt.Errorf("%w: --group is given twice: the former group, and the latter", errUsage)
	case flags.Changed("before") || flags.Changed("after") || flags.Changed("run-noise"):
		return groups, fmt.Errorf("%w: --before, --after and --run-noise are for datasets, --group is for a lake", errUsage)
	case len(arguments) != 1:
		return groups, fmt.Errorf("%w: name one lake", errUsage)
	case strings.HasPrefix(arguments[0], "s3://"):
		return groups, fmt.Errorf("%w: --group reads a lake in a directory; docs/fleet.md has the SQL for one in object storage", errUsage)
	case !(g.percentile > 0 && g.percentile <= 100):
		return groups, fmt.Errorf("%w: --percentile is above 0, and at most 100", errUsage)
	}
	for i, text := range g.texts {
		if groups[i], err = fleet.ParseGroup(text); err != nil {
			return groups, err
		}
	}
	return groups, nil
}

func (g *groupFlags) run(ctx context.Context, c console, output outputFlags, dir string, groups [2]fleet.Group, options fleet.Options, all, quiet bool) error {
	options.Percentile, options.Vehicle = g.percentile, g.vehicle
	collectSeldom(c)
	options.Progress = newReadProgress(c.err, quiet)
	difference, err := fleet.Diff(ctx, dir, groups, options)
	endProgress(c.err, quiet)
	if err != nil {
		return err
	}
	warn(c, quiet, difference.Warnings)
	err = showFleetDifference(c, output, difference, all)
	if difference.Differs() {
		err = errors.Join(err, errDiffers)
	}
	return err
}

func showFleetDifference(c console, output outputFlags, d *fleet.Difference, all bool) error {
	if *output.json {
		return report.WriteJSON(c.out, d)
	}
	var latencies []fleet.LatencyChange
	for _, l := range d.Latencies {
		if l.Verdict == significance.Changed || all {
			latencies = append(latencies, l)
		}
	}
	if err := showChanges(c, output, d.Entities, latencies); err != nil || !output.isTable() {
		return err
	}
	for i := range d.Groups {
		g := &d.Groups[i]
		fmt.Fprintf(c.out, "%s (%s): %d recordings of %d vehicles\n", g.Name, g.Conditions, g.Recordings, g.Vehicles)
	}
	fmt.Fprintf(c.out, "%d vehicles are in both groups\n", d.VehiclesInBoth)
	fmt.Fprintf(c.out, "%d latencies came or went; %d of %d changed by more than noise\n", len(d.Entities), d.Count(significance.Changed), len(d.Latencies))
	if unknown := d.Count(significance.Unknown); unknown > 0 {
		fmt.Fprintf(c.out, "%d latencies: too few recordings of known vehicles to tell whether they changed\n", unknown)
	}
	return nil
}
