package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
)

func latencyPathCommand() command {
	return command{
		name: "path", arguments: "DATASET… --from TOPIC --to TOPIC [flags]", summary: "along paths of nodes and topics, and where the time goes",
		examples: []string{
			"caret-bpf latency path rec --from /points --to /control",
			"caret-bpf latency path rec --path '[/talker]-[/chatter]-[/listener]' --why",
			"caret-bpf latency path monday tuesday --attribute vehicle=bus-7 --by route --from /points --to /control",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "message along the paths")
			f := definePathFlags(flags)
			lost := flags.Bool("lost", false, "with --series: one row for each message that was lost on a hop or led to no publish, too")
			why := flags.Bool("why", false, "where the time went: computing in the nodes, or while a message waited for the thread that took it: other callbacks, the executor, preemption, "+
				"waiting; needs record --sched=full")
			charts := defineChartFlags(flags, histogramChart, seriesChart, stackedBarChart, flowChart)
			return func(ctx context.Context, c console, arguments []string) error {
				switch {
				case *why && (*lost || charts.asksAny()):
					return fmt.Errorf("%w: --why is answered with rows of its own: leave out --lost and drawings", errUsage)
				case *lost && len(charts.asked()) > 0:
					return fmt.Errorf("%w: drawings mark what was lost by themselves: leave out --lost", errUsage)
				case *lost && !q.series:
					return fmt.Errorf("%w: --lost adds rows to --series: name both", errUsage)
				}
				options := f.options()
				options.Dropped = *lost || charts.asks(seriesChart) // a plot marks what has no latency
				ask := askPaths(f, options, (*analyze.Query).PathLatency)
				switch {
				case *why:
					together := func(_, b *analyze.PathParts) bool { return b.Hop > 0 }
					return answer(ctx, c, q, arguments, ranking[analyze.PathParts]{by: "longest", together: together}, askPaths(f, options, (*analyze.Query).PathParts))
				case charts.asks(stackedBarChart):
					return answerCharted(ctx, c, q, charts, arguments, ask, newStackedBars())
				case charts.asks(flowChart):
					return answerCharted(ctx, c, q, charts, arguments, askPaths(f, options, (*analyze.Query).PathFlows), newMessageFlows())
				}
				together := func(_, b *analyze.PathHop) bool { return b.Hop > 0 } // a path and its hops
				return answerOrChart(ctx, c, q, charts, arguments, ranking[analyze.PathHop]{by: worstFirst, together: together}, ask, pathValues())
			}
		},
	}
}

// askPaths asks about the paths that the flags name.
func askPaths[S, I any](f *pathFlags, options analyze.PathOptions, ask func(*analyze.Query, context.Context, []*system.Path, analyze.PathOptions, func([]I) error) ([]S, error)) func(*analyze.Query, context.Context, func([]I) error) ([]S, error) {
	return func(query *analyze.Query, ctx context.Context, each func([]I) error) ([]S, error) {
		paths, err := f.find(ctx, query)
		if err != nil {
			return nil, err
		}
		return ask(query, ctx, paths, options, each)
	}
}

// hopLabel tells hops from each other. Hop 0 is the path as a whole.
type hopLabel struct {
	path string
	hop  int
}

func pathValues() valued[analyze.PathHop, analyze.PathHopInstance, hopLabel] {
	return valued[analyze.PathHop, analyze.PathHopInstance, hopLabel]{
		title: "latency of paths", axis: "latency", of: "ways",
		row: func(s *analyze.PathHop) (hopLabel, string, []chart.Missing) {
			name := s.Path
			if s.Hop > 0 {
				name = fmt.Sprintf("hop %d, %s %s, of %s", s.Hop, s.Kind, s.Name, s.Path)
			}
			return hopLabel{s.Path, s.Hop}, name, []chart.Missing{{Count: s.Dropped, What: "dropped"}}
		},
		instance: func(i *analyze.PathHopInstance, tell func(hopLabel, int64, trace.Optional[int64])) {
			tell(hopLabel{i.Path, i.Hop}, i.Begin, i.Latency)
		},
	}
}
