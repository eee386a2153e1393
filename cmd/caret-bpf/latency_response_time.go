package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
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
			charts := defineChartFlags(flags, histogramChart, seriesChart)
			return func(ctx context.Context, c console, arguments []string) error {
				together := func(_, b *analyze.ResponseTime) bool { return b.Case != analyze.ResponseBest } // the cases of a path
				rank := ranking[analyze.ResponseTime]{by: worstFirst, together: together}
				switch {
				case charts.asksAny() && flags.Changed("of"):
					return fmt.Errorf("%w: drawings have all cases: leave out --of", errUsage)
				case charts.asksAny():
					return answerOrChart(ctx, c, q, charts, arguments, rank, f.responseTimeValues, responseTimeChart())
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

// responseValue is a response time of one case, that of a flow or, for the case all, of an input.
type responseValue struct {
	responseLabel
	input, value int64
}

// responseLabel tells the cases of paths from each other.
type responseLabel struct {
	path string
	of   analyze.ResponseTimeCase
}

// responseTimeValues passes on the response times of all cases. Each is put where its input, or its flow's, began.
func (f *pathFlags) responseTimeValues(query *analyze.Query, ctx context.Context, each func([]responseValue) error) ([]analyze.ResponseTime, error) {
	return f.responseTime(ctx, query, func(flows []analyze.ResponseTimeInstance) error {
		values := make([]responseValue, 0, 3*len(flows))
		for _, flow := range flows {
			values = append(values,
				responseValue{responseLabel{flow.Path, analyze.ResponseBest}, flow.Input, flow.Best},
				responseValue{responseLabel{flow.Path, analyze.ResponseWorst}, flow.Input, flow.Worst},
				responseValue{responseLabel{flow.Path, analyze.ResponseWorstWithExternalLatency}, flow.Input, flow.WorstWithExternalLatency})
		}
		return each(values)
	}, func(inputs []analyze.ResponseTimeInputInstance) error {
		values := make([]responseValue, len(inputs))
		for i, input := range inputs {
			values[i] = responseValue{responseLabel{input.Path, analyze.ResponseAll}, input.Input, input.ResponseTime}
		}
		return each(values)
	})
}

func responseTimeChart() valued[analyze.ResponseTime, responseValue, responseLabel] {
	return valued[analyze.ResponseTime, responseValue, responseLabel]{
		title: "response time of paths", axis: "response time", of: "values",
		row: func(s *analyze.ResponseTime) (responseLabel, string, []chart.Missing) {
			return responseLabel{s.Path, s.Case}, strings.ReplaceAll(string(s.Case), "_", " ") + ", of " + s.Path, nil
		},
		instance: func(i *responseValue, tell func(responseLabel, int64, trace.Optional[int64])) {
			tell(i.responseLabel, i.input, trace.Some(i.value))
		},
	}
}
