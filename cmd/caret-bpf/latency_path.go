package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func latencyPathCommand() command {
	return command{
		name: "path", arguments: "DATASET… --from TOPIC --to TOPIC [flags]", summary: "along paths of nodes and topics, and where the time goes",
		examples: []string{
			"caret-bpf latency path rec --from /points --to /control",
			"caret-bpf latency path rec --path '[/talker]-[/chatter]-[/listener]'",
			"caret-bpf latency path monday tuesday --attribute vehicle=bus-7 --by route --from /points --to /control",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "message along the paths")
			f := definePathFlags(flags)
			lost := flags.Bool("lost", false, "with --series: one row for each message that was lost on a hop or led to no publish, too")
			return func(ctx context.Context, c console, arguments []string) error {
				if *lost && !q.series {
					return fmt.Errorf("%w: --lost adds rows to --series: name both", errUsage)
				}
				together := func(_, b *analyze.PathHop) bool { return b.Hop > 0 } // a path and its hops
				return answer(ctx, c, q, arguments, ranking[analyze.PathHop]{worstFirst, together}, func(query *analyze.Query, ctx context.Context, each func([]analyze.PathHopInstance) error) ([]analyze.PathHop, error) {
					paths, err := f.find(ctx, query)
					if err != nil {
						return nil, err
					}
					options := f.options()
					options.Dropped = *lost
					return query.PathLatency(ctx, paths, options, each)
				})
			}
		},
	}
}
