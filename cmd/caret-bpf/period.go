package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/chart"
	"github.com/caret-bpf/caret-bpf/trace"
)

// periodicFlags say what is periodic, and in which time.
type periodicFlags struct {
	of      string
	simTime bool
}

func definePeriodicFlags(flags *pflag.FlagSet) *periodicFlags {
	f := new(periodicFlags)
	flags.StringVar(&f.of, "of", "callback", "`WHAT`: callback (their starts), topic (the publishes of each publisher), subscription (the messages received) or communication (the publishes that a subscription received)")
	flags.BoolVar(&f.simTime, "sim-time", false, "in simulated time, as the recording of /clock tells it")
	return f
}

func (f *periodicFlags) subject(q *question) (analyze.Subject, error) {
	switch of := analyze.Subject(f.of); of {
	case analyze.Topics:
		if len(q.callbacks) > 0 {
			return "", fmt.Errorf("%w: publishes are not chosen by --callback: take --topic, --node or --process", errUsage)
		}
		return of, nil
	case analyze.Callbacks, analyze.Subscriptions, analyze.Communications:
		return of, nil
	}
	return "", fmt.Errorf("%w: --of callback, topic, subscription or communication", errUsage)
}

func periodCommand() command {
	return command{
		name: "period", arguments: "DATASET… [flags]", summary: "the time between starts of callbacks, publishes or messages received; timers against their ideal grid",
		examples: []string{
			"caret-bpf period rec --node /sensor",
			"caret-bpf period rec --of topic --sort max",
			"caret-bpf period rec --topic /points --of topic --series --csv",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "occurrence")
			f := definePeriodicFlags(flags)
			charts := defineChartFlags(flags, histogramChart, seriesChart)
			return func(ctx context.Context, c console, arguments []string) error {
				subject, err := f.subject(q)
				if err != nil {
					return err
				}
				together := func(a, b *analyze.Period) bool { return a.PeriodicLabel == b.PeriodicLabel }
				return answerOrChart(ctx, c, q, charts, arguments, ranking[analyze.Period]{together: together}, func(query *analyze.Query, ctx context.Context, each func([]analyze.PeriodInstance) error) ([]analyze.Period, error) {
					return query.Periods(ctx, subject, f.simTime, each)
				}, periodValues(subject))
			}
		},
	}
}

func frequencyCommand() command {
	return command{
		name: "frequency", arguments: "DATASET… [flags]", summary: "how many starts of callbacks, publishes or messages received there were a second",
		examples: []string{
			"caret-bpf frequency rec --of topic",
			"caret-bpf frequency rec --node /sensor --interval 100ms --series",
			"caret-bpf frequency rec --of topic --series --plot --png frequency.png",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "occurrence")
			f := definePeriodicFlags(flags)
			interval := flags.Duration("interval", time.Second, "count in intervals of this `DURATION`")
			common := flags.Bool("common-base", false, "count all intervals from the first occurrence of any to the last of any")
			charts := defineChartFlags(flags, histogramChart, seriesChart)
			return func(ctx context.Context, c console, arguments []string) error {
				subject, err := f.subject(q)
				if err != nil {
					return err
				}
				if *interval <= 0 {
					return fmt.Errorf("%w: --interval takes a positive duration", errUsage)
				}
				return answerOrChart(ctx, c, q, charts, arguments, ranking[analyze.Frequency]{}, func(query *analyze.Query, ctx context.Context, each func([]analyze.FrequencyInstance) error) ([]analyze.Frequency, error) {
					return query.Frequencies(ctx, subject, f.simTime, analyze.Intervals{Length: int64(*interval), Common: *common}, each)
				}, frequencyValues(subject))
			}
		},
	}
}

// periodValues are those of the periods. Lateness has no instances: its row only tells of missed starts.
func periodValues(subject analyze.Subject) valued[analyze.Period, analyze.PeriodInstance, analyze.PeriodicLabel] {
	return valued[analyze.Period, analyze.PeriodInstance, analyze.PeriodicLabel]{
		title: "period", axis: "period", of: "periods",
		row: func(s *analyze.Period) (analyze.PeriodicLabel, string, []chart.Missing) {
			return s.PeriodicLabel, periodicTitle(subject, s.PeriodicLabel), []chart.Missing{{Count: s.Missed.Value, What: "starts that the timer missed"}}
		},
		instance: func(i *analyze.PeriodInstance, tell func(analyze.PeriodicLabel, int64, trace.Optional[int64])) {
			tell(i.PeriodicLabel, i.Begin, trace.Some(i.Period))
		},
	}
}

func frequencyValues(subject analyze.Subject) valued[analyze.Frequency, analyze.FrequencyInstance, analyze.PeriodicLabel] {
	return valued[analyze.Frequency, analyze.FrequencyInstance, analyze.PeriodicLabel]{
		title: "frequency", axis: "frequency", of: "intervals", unit: chart.MicroHertz,
		notes: []string{"The last interval of each is not whole."},
		row: func(s *analyze.Frequency) (analyze.PeriodicLabel, string, []chart.Missing) {
			return s.PeriodicLabel, periodicTitle(subject, s.PeriodicLabel), nil
		},
		instance: func(i *analyze.FrequencyInstance, tell func(analyze.PeriodicLabel, int64, trace.Optional[int64])) {
			tell(i.PeriodicLabel, i.Begin, trace.Some(int64(i.Rate*1e6)))
		},
	}
}
