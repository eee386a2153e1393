package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func latencyCallbackCommand() command {
	return command{
		name: "callback", arguments: "DATASET… [flags]", summary: "from the start to the end of callbacks",
		examples: []string{
			"caret-bpf latency callback rec",
			"caret-bpf latency callback rec --node '/perception/.*' --sort max --limit 10",
			"caret-bpf latency callback rec --node /planner --series --csv >planner.csv",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "execution of a callback")
			return func(ctx context.Context, c console, arguments []string) error {
				return answer(ctx, c, q, arguments, ranking[analyze.CallbackLatency]{by: worstFirst}, (*analyze.Query).CallbackLatency)
			}
		},
	}
}
