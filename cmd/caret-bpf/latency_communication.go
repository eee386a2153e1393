package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
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
			charts := defineChartFlags(flags, histogramChart, seriesChart)
			return func(ctx context.Context, c console, arguments []string) error {
				return answerOrChart(ctx, c, q, charts, arguments, ranking[analyze.CommunicationLatency]{by: worstFirst, last: func(l *analyze.CommunicationLatency) bool { return l.OfEveryNode }}, (*analyze.Query).CommunicationLatency, communicationValues())
			}
		},
	}
}

func communicationValues() valued[analyze.CommunicationLatency, analyze.CommunicationInstance, analyze.CommunicationLabel] {
	return valued[analyze.CommunicationLatency, analyze.CommunicationInstance, analyze.CommunicationLabel]{
		title: "latency of communications", axis: "latency", of: "messages",
		row: func(s *analyze.CommunicationLatency) (analyze.CommunicationLabel, string, []chart.Missing) {
			return s.CommunicationLabel, communicationTitle(s.CommunicationLabel), []chart.Missing{
				{Count: s.Lost, What: "lost"}, {Count: s.Open, What: "open"}, {Count: s.Unknown, What: "of unknown fate"},
			}
		},
		instance: func(i *analyze.CommunicationInstance, tell func(analyze.CommunicationLabel, int64, trace.Optional[int64])) {
			tell(i.CommunicationLabel, i.Published(), i.Latency)
		},
	}
}
