package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func latencyCommunicationCommand() command {
	return command{
		name: "communication", arguments: "DATASET… [flags]", summary: "from the publish of messages to the callbacks that they start, or to where they are polled",
		examples: []string{
			"caret-bpf latency communication rec",
			"caret-bpf latency communication rec --sort lost --limit 10",
			"caret-bpf latency communication rec --topic /points --series --parquet points.parquet",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "message from a publisher to a subscription")
			return func(ctx context.Context, c console, arguments []string) error {
				return answer(ctx, c, q, arguments, ranking[analyze.CommunicationLatency]{by: worstFirst}, (*analyze.Query).CommunicationLatency)
			}
		},
	}
}
