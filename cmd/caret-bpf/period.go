package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
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
			return func(ctx context.Context, c console, arguments []string) error {
				subject, err := f.subject(q)
				if err != nil {
					return err
				}
				together := func(a, b *analyze.Period) bool { return a.PeriodicLabel == b.PeriodicLabel }
				return answer(ctx, c, q, arguments, ranking[analyze.Period]{together: together}, func(query *analyze.Query, ctx context.Context, each func([]analyze.PeriodInstance) error) ([]analyze.Period, error) {
					return query.Periods(ctx, subject, f.simTime, each)
				})
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
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			q := defineQuestion(flags, "occurrence")
			f := definePeriodicFlags(flags)
			interval := flags.Duration("interval", time.Second, "count in intervals of this `DURATION`")
			common := flags.Bool("common-base", false, "count all intervals from the first occurrence of any to the last of any")
			return func(ctx context.Context, c console, arguments []string) error {
				subject, err := f.subject(q)
				if err != nil {
					return err
				}
				if *interval <= 0 {
					return fmt.Errorf("%w: --interval takes a positive duration", errUsage)
				}
				return answer(ctx, c, q, arguments, ranking[analyze.Frequency]{}, func(query *analyze.Query, ctx context.Context, each func([]analyze.FrequencyInstance) error) ([]analyze.Frequency, error) {
					return query.Frequencies(ctx, subject, f.simTime, analyze.Intervals{Length: int64(*interval), Common: *common}, each)
				})
			}
		},
	}
}
