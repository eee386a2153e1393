package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
)

func latencyServiceCommand() command {
	return command{
		name: "service", arguments: "DATASET… [flags]", summary: "from requests to responses, and what part the server took",
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if len(q.callbacks) > 0 {
					return fmt.Errorf("%w: calls of services are not chosen by --callback: take --topic, --node or --process", errUsage)
				}
				return answer(ctx, c, q, arguments, (*analyze.Query).ServiceLatency)
			}
		},
	}
}
