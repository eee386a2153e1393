package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func latencyNodeCommand() command {
	return command{
		name: "node", arguments: "DATASET… [flags]", summary: "from the messages that nodes receive to those that they publish of them",
		examples: []string{
			"caret-bpf latency node rec --node /planner",
			"caret-bpf latency node rec --architecture architecture.yaml",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "message through a node")
			f := defineContextFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				return answer(ctx, c, q, arguments, ranking[analyze.NodeLatency]{by: worstFirst}, func(query *analyze.Query, ctx context.Context, each func([]analyze.NodeInstance) error) ([]analyze.NodeLatency, error) {
					if err := query.LoadActivity(ctx); err != nil {
						return nil, err
					}
					if err := f.adopt(query); err != nil {
						return nil, err
					}
					return query.NodeLatency(ctx, f.options(), each)
				})
			}
		},
	}
}
