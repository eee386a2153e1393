package main

import (
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/trace"
)

// changeFlags say what counts as a change between recordings.
type changeFlags struct {
	flags                 *pflag.FlagSet
	alpha, percent, noise float64
}

// changeFlagNames are the names of all of them.
var changeFlagNames = []string{"alpha", "min-change", "run-noise"}

// defineChangeFlags defines them. when is what they go with, such as "with --baseline: ".
func defineChangeFlags(flags *pflag.FlagSet, when string) *changeFlags {
	f := &changeFlags{flags: flags}
	flags.Float64Var(&f.alpha, "alpha", 0.01, when+"`PROBABILITY` of calling anything changed in recordings of the same system")
	flags.Float64Var(&f.percent, "min-change", 3, when+"least change of a median that counts, in `PERCENT`")
	flags.Float64Var(&f.noise, "run-noise", 3, when+"with one recording a side, standard deviation of a median from run to run that is assumed, in `PERCENT`")
	return f
}

// options returns what they say of so many recordings a side. The error is of usage.
func (f *changeFlags) options(before, after int) (options analyze.DiffOptions, err error) {
	switch {
	case !(f.alpha > 0 && f.alpha < 1) || !(f.percent > 0) || math.IsInf(f.percent, 1):
		return options, fmt.Errorf("%w: --alpha is between 0 and 1, --min-change positive and finite", errUsage)
	case !(f.noise >= 0 && f.noise < 100):
		return options, fmt.Errorf("%w: --run-noise is at least 0 and less than 100", errUsage)
	case f.flags.Changed("run-noise") && (before > 1 || after > 1):
		return options, fmt.Errorf("%w: --run-noise is assumed with one recording a side; several tell it", errUsage)
	}
	return analyze.DiffOptions{Alpha: f.alpha, MinChange: f.percent / 100, RunNoise: trace.Some(f.noise / 100)}, nil
}
