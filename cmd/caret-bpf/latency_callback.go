package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
)

func latencyCallbackCommand() command {
	return command{
		name: "callback", arguments: "DATASET… [flags]", summary: "from the start to the end of callbacks",
		examples: []string{
			"caret-bpf latency callback rec",
			"caret-bpf latency callback rec --node '/perception/.*' --sort max --limit 10",
			"caret-bpf latency callback rec --why",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "execution of a callback")
			charts := defineChartFlags(flags, histogramChart, seriesChart, schedulingChart)
			why := flags.Bool("why", false, "where the time went: on a CPU, preempted, blocked, or awake and not running yet; needs record --sched, and record --sched=full to say who preempted")
			offCPU := flags.Bool("off-cpu", false, "what kept the threads of callbacks off the CPU: who had it, or who woke them; needs record --sched=full")
			before := flags.Bool("before", false, "where the time before callbacks went, since the timer was due or the message was published: into other callbacks, the executor, "+
				"preemption, waiting; needs record --sched=full")
			return func(ctx context.Context, c console, arguments []string) error {
				switch asked := countTrue(*why, *offCPU, *before); {
				case asked > 1 || asked == 1 && charts.asksAny():
					return fmt.Errorf("%w: --why, --off-cpu and --before are answered with rows of their own: ask for one, without a drawing", errUsage)
				case *offCPU:
					return answer(ctx, c, q, arguments, ranking[analyze.CallbackOffCPU]{by: "total"}, (*analyze.Query).CallbackOffCPU)
				case *before:
					return answer(ctx, c, q, arguments, ranking[analyze.CallbackDelay]{by: "longest"}, (*analyze.Query).CallbackDelays)
				case *why:
					return answer(ctx, c, q, arguments, ranking[analyze.CallbackParts]{by: "longest"}, (*analyze.Query).CallbackParts)
				}
				if charts.asks(schedulingChart) {
					return answerCharted(ctx, c, q, charts, arguments, (*analyze.Query).CallbackLatency, newScheduling())
				}
				return answerOrChart(ctx, c, q, charts, arguments, ranking[analyze.CallbackLatency]{by: worstFirst, last: func(l *analyze.CallbackLatency) bool { return l.OfEveryNode }}, (*analyze.Query).CallbackLatency, callbackValues())
			}
		},
	}
}

func countTrue(flags ...bool) (count int) {
	for _, flag := range flags {
		if flag {
			count++
		}
	}
	return count
}

func callbackValues() valued[analyze.CallbackLatency, analyze.CallbackExecution, analyze.CallbackLabel] {
	return valued[analyze.CallbackLatency, analyze.CallbackExecution, analyze.CallbackLabel]{
		title: "latency of callbacks", axis: "latency", of: "executions",
		row: func(s *analyze.CallbackLatency) (analyze.CallbackLabel, string, []chart.Missing) {
			return s.CallbackLabel, callbackTitle(s.CallbackLabel), []chart.Missing{{Count: s.Incomplete, What: "incomplete"}}
		},
		instance: func(i *analyze.CallbackExecution, tell func(analyze.CallbackLabel, int64, trace.Optional[int64])) {
			tell(i.CallbackLabel, i.Begin, i.Latency)
		},
	}
}
