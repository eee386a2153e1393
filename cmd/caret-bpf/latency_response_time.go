package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func responseTimeCommand() command {
	return command{
		name: "response-time", arguments: "DATASET… --from TOPIC --to TOPIC [flags]", summary: "how fast paths react: best, worst, worst with external latency",
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags)
			f := definePathFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				return answer(ctx, c, q, arguments, func(query *analyze.Query, ctx context.Context, each func([]analyze.ResponseTimeInstance) error) ([]analyze.ResponseTime, error) {
					paths, err := f.find(ctx, query)
					if err != nil {
						return nil, err
					}
					return query.ResponseTime(ctx, paths, f.latest, each)
				})
			}
		},
	}
}
