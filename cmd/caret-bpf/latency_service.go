package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
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
			charts := defineChartFlags(flags, histogramChart, seriesChart)
			return func(ctx context.Context, c console, arguments []string) error {
				if len(q.callbacks) > 0 {
					return fmt.Errorf("%w: calls of services are not chosen by --callback: take --topic, --node or --process", errUsage)
				}
				together := func(a, b *analyze.ServiceLatency) bool { return a.ServiceLabel == b.ServiceLabel } // a call and its parts
				return answerOrChart(ctx, c, q, charts, arguments, ranking[analyze.ServiceLatency]{by: worstFirst, together: together}, (*analyze.Query).ServiceLatency, serviceValues())
			}
		},
	}
}

// partLabel tells the parts of calls from each other.
type partLabel struct {
	analyze.ServiceLabel
	part analyze.ServicePart
}

func serviceValues() valued[analyze.ServiceLatency, analyze.ServiceCall, partLabel] {
	return valued[analyze.ServiceLatency, analyze.ServiceCall, partLabel]{
		title: "latency of services", axis: "latency", of: "calls",
		row: func(s *analyze.ServiceLatency) (partLabel, string, []chart.Missing) {
			return partLabel{s.ServiceLabel, s.Part}, serviceTitle(s.ServiceLabel, s.Part), []chart.Missing{{Count: s.Unanswered, What: "unanswered"}}
		},
		instance: func(i *analyze.ServiceCall, tell func(partLabel, int64, trace.Optional[int64])) {
			for _, part := range []struct {
				name     analyze.ServicePart
				from, to trace.Optional[int64]
			}{
				{analyze.PartCall, i.RequestSent, i.ResponseTaken}, {analyze.PartRequest, i.RequestSent, i.RequestTaken},
				{analyze.PartServer, i.RequestTaken, i.ResponseSent}, {analyze.PartResponse, i.ResponseSent, i.ResponseTaken},
			} {
				if !part.from.Valid {
					continue
				}
				var latency trace.Optional[int64]
				if part.to.Valid {
					latency = trace.Some(part.to.Value - part.from.Value)
				}
				tell(partLabel{i.ServiceLabel, part.name}, part.from.Value, latency)
			}
		},
	}
}
