package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func latencyPathCommand() command {
	return command{
		name: "path", arguments: "DATASET… --from TOPIC --to TOPIC [flags]", summary: "along paths of nodes and topics, and where the time goes",
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags)
			f := definePathFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				return answer(ctx, c, q, arguments, func(query *analyze.Query, ctx context.Context, each func([]analyze.PathHopInstance) error) ([]analyze.PathHop, error) {
					paths, err := f.find(ctx, query)
					if err != nil {
						return nil, err
					}
					return query.PathLatency(ctx, paths, f.latest, each)
				})
			}
		},
	}
}
