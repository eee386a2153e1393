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
		examples: []string{
			"caret-bpf latency service rec",
			"caret-bpf latency service rec --topic /reset --series",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "call of a service or an action")
			return func(ctx context.Context, c console, arguments []string) error {
				if len(q.callbacks) > 0 {
					return fmt.Errorf("%w: calls of services are not chosen by --callback: take --topic, --node or --process", errUsage)
				}
				together := func(a, b *analyze.ServiceLatency) bool { return a.ServiceLabel == b.ServiceLabel } // a call and its parts
				return answer(ctx, c, q, arguments, ranking[analyze.ServiceLatency]{worstFirst, together}, (*analyze.Query).ServiceLatency)
			}
		},
	}
}
