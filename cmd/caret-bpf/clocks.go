package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func clocksCommand() command {
	return command{
		name: "clocks", arguments: "DATASET DATASET… [flags]",
		summary: "how far the clocks of several hosts are apart, by the messages between them, and whether that is what was recorded",
		examples: []string{
			"caret-bpf clocks front rear",
			"caret-bpf clocks front rear --series --csv",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := &question{of: "clock of another host", time: new(timeFlags)}
			q.attributes = defineAttributeFlags(flags)
			flags.BoolVar(&q.series, "series", false, "one row for each second")
			q.orderFlags = defineOrderFlags(flags)
			q.outputFlags = defineOutputFlags(flags)
			q.quiet = quietFlag(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				return answer(ctx, c, q, arguments, ranking[analyze.ClockComparison]{}, (*analyze.Query).Clocks)
			}
		},
	}
}
