package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func responseTimeCommand() command {
	return command{
		name: "response-time", arguments: "DATASET… --from TOPIC --to TOPIC [flags]", summary: "how fast paths react: best, worst, worst with external latency, all",
		examples: []string{
			"caret-bpf latency response-time rec --from /points --to /control",
			"caret-bpf latency response-time rec --path '[/talker]-[/chatter]-[/listener]' --json",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "flow along the paths")
			f := definePathFlags(flags)
			of := flags.String("of", "flow", "with --series, one row for each `WHAT`: flow, or input (the case all)")
			return func(ctx context.Context, c console, arguments []string) error {
				together := func(_, b *analyze.ResponseTime) bool { return b.Case != analyze.ResponseBest } // the cases of a path
				rank := ranking[analyze.ResponseTime]{worstFirst, together}
				switch {
				case *of == "input" && q.series:
					return answer(ctx, c, q, arguments, rank, func(query *analyze.Query, ctx context.Context, each func([]analyze.ResponseTimeInputInstance) error) ([]analyze.ResponseTime, error) {
						return f.responseTime(ctx, query, nil, each)
					})
				case *of == "flow":
					return answer(ctx, c, q, arguments, rank, func(query *analyze.Query, ctx context.Context, each func([]analyze.ResponseTimeInstance) error) ([]analyze.ResponseTime, error) {
						return f.responseTime(ctx, query, each, nil)
					})
				}
				return fmt.Errorf("%w: --of flow, or with --series --of input", errUsage)
			}
		},
	}
}

func (f *pathFlags) responseTime(ctx context.Context, query *analyze.Query,
	each func([]analyze.ResponseTimeInstance) error, eachInput func([]analyze.ResponseTimeInputInstance) error) ([]analyze.ResponseTime, error) {
	paths, err := f.find(ctx, query)
	if err != nil {
		return nil, err
	}
	return query.ResponseTime(ctx, paths, f.options(), each, eachInput)
}
