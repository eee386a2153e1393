package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
)

func latencyNodeCommand() command {
	return command{
		name: "node", arguments: "DATASET… [flags]", summary: "from the messages that nodes receive to those that they publish of them",
		examples: []string{
			"caret-bpf latency node rec --node /planner",
			"caret-bpf latency node rec --architecture architecture.yaml",
			"caret-bpf latency node rec --node /planner --series --plot --svg planner.svg",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "message through a node")
			f := defineContextFlags(flags)
			charts := defineChartFlags(flags, histogramChart, seriesChart)
			return func(ctx context.Context, c console, arguments []string) error {
				return answerOrChart(ctx, c, q, charts, arguments, ranking[analyze.NodeLatency]{by: worstFirst}, func(query *analyze.Query, ctx context.Context, each func([]analyze.NodeInstance) error) ([]analyze.NodeLatency, error) {
					if err := query.LoadActivity(ctx); err != nil {
						return nil, err
					}
					if err := f.adopt(query); err != nil {
						return nil, err
					}
					return query.NodeLatency(ctx, f.options(), each)
				}, nodeValues())
			}
		},
	}
}

func nodeValues() valued[analyze.NodeLatency, analyze.NodeInstance, analyze.NodeLabel] {
	return valued[analyze.NodeLatency, analyze.NodeInstance, analyze.NodeLabel]{
		title: "latency of nodes", axis: "latency", of: "outputs",
		row: func(s *analyze.NodeLatency) (analyze.NodeLabel, string, []chart.Missing) {
			return s.NodeLabel, nodeTitle(s.NodeLabel), []chart.Missing{{Count: s.Unused, What: "unused"}, {Count: s.WithoutInput, What: "without an input"}}
		},
		instance: func(i *analyze.NodeInstance, tell func(analyze.NodeLabel, int64, trace.Optional[int64])) {
			at := i.Input
			if !at.Valid {
				at = i.Publish
			}
			tell(i.NodeLabel, at.Value, i.Latency)
		},
	}
}
