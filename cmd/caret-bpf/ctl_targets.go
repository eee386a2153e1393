package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/report"
)

func ctlTargetsCommand() command {
	return ctlRequestCommand("targets", "list the processes that a recording records now", (*control.Client).Targets, (*ctlFlags).printTargets)
}

func ctlAddCommand() command {
	return ctlTargetCommand("add", "begin to record a process; the answer comes when everything is recorded of it", (*control.Client).Add)
}

func ctlRemoveCommand() command {
	return ctlTargetCommand("remove", "end the recording of a process; the others go on", (*control.Client).Remove)
}

func ctlTargetCommand(name, summary string, ask func(*control.Client, context.Context, int32) (control.Targets, error)) command {
	return command{
		name: name, arguments: "PID [flags]", summary: summary,
		examples: []string{"caret-bpf ctl " + name + " 1234", "caret-bpf ctl " + name + " 1234 --socket /tmp/recording.sock --json"},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineCtlFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if len(arguments) != 1 {
					return fmt.Errorf("%w: name one PID", errUsage)
				}
				pid, err := strconv.ParseInt(arguments[0], 10, 32)
				if err != nil || pid < 1 {
					return fmt.Errorf("%w: %q is no PID", errUsage, arguments[0])
				}
				return askAndShow(ctx, c, f, func(client *control.Client) (control.Targets, error) {
					return ask(client, ctx, int32(pid))
				}, (*ctlFlags).printTargets)
			}
		},
	}
}

func (f *ctlFlags) printTargets(w *output, all control.Targets) error {
	if f.json {
		return printJSON(w, all)
	}
	for _, target := range all.Targets {
		fmt.Fprintf(w, "PID %d  %s\n", target.PID, report.Printable(target.Command))
	}
	if len(all.Targets) == 0 {
		fmt.Fprintln(w, "it records no process now")
	}
	return nil
}
