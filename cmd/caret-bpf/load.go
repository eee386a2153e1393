package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func loadCommand() command {
	return command{
		name: "load", arguments: "DATASET… [flags]", summary: "which share of the time threads were in callbacks, and in which",
		examples: []string{
			"caret-bpf load rec",
			"caret-bpf load rec --sort peak --interval 100ms",
			"caret-bpf load rec -p 1234 --series --csv",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "execution of a callback")
			interval := flags.Duration("interval", time.Second, "find the peak, and with --series every share, of intervals of this `DURATION`")
			return func(ctx context.Context, c console, arguments []string) error {
				if *interval <= 0 {
					return fmt.Errorf("%w: --interval takes a positive duration", errUsage)
				}
				together := func(a, b *analyze.Load) bool { return a.PID == b.PID && a.TID == b.TID } // a thread and its callbacks
				return answer(ctx, c, q, arguments, ranking[analyze.Load]{together: together}, func(query *analyze.Query, ctx context.Context, each func([]analyze.LoadInstance) error) ([]analyze.Load, error) {
					return query.Loads(ctx, int64(*interval), each)
				})
			}
		},
	}
}
