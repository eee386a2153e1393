package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/report"
)

func ctlSnapshotCommand() command {
	return command{
		name: "snapshot", arguments: "[flags]", summary: "copy what was recorded, or a time span of it, into a new dataset; the recording goes on",
		examples: []string{
			"caret-bpf ctl snapshot --last 30s",
			"caret-bpf ctl snapshot --begin 2026-11-22T00:07:30Z --end 2026-11-22T00:08:00Z",
			"caret-bpf ctl snapshot -o before-the-stop --reason 'it has stopped'",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineCtlFlags(flags)
			span := defineSpanFlags(flags)
			output := flags.StringP("output", "o", "", "the new dataset's `DIRECTORY` (default: one beside or in that of the recording)")
			reason := flags.String("reason", "", "note this `TEXT` in the dataset")
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				if err := span.check(); err != nil {
					return err
				}
				path, err := absolute(*output)
				if err != nil {
					return err
				}
				return askAndShow(ctx, c, f, func(client *control.Client) (control.Snapshot, error) {
					request := control.SnapshotRequest{Output: path, Reason: *reason}
					if err := span.set(ctx, client, &request); err != nil {
						return control.Snapshot{}, err
					}
					return client.Snapshot(ctx, request)
				}, (*ctlFlags).printSnapshot)
			}
		},
	}
}

func ctlRotateCommand() command {
	return command{
		name: "rotate", arguments: "[flags]", summary: "move what was recorded so far into a dataset of its own; the recording goes on",
		examples: []string{"caret-bpf ctl rotate", "caret-bpf ctl rotate -o monday --reason 'end of the shift'"},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineCtlFlags(flags)
			output := flags.StringP("output", "o", "", "the new dataset's `DIRECTORY` (default: one beside that of the recording)")
			reason := flags.String("reason", "", "note this `TEXT` in the dataset")
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				path, err := absolute(*output)
				if err != nil {
					return err
				}
				return askAndShow(ctx, c, f, func(client *control.Client) (control.Snapshot, error) {
					return client.Rotate(ctx, control.RotationRequest{Output: path, Reason: *reason})
				}, (*ctlFlags).printSnapshot)
			}
		},
	}
}

// absolute is the path that a recorder understands, which may run elsewhere; "" stays.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

func (f *ctlFlags) printSnapshot(w *output, made control.Snapshot) error {
	if f.json {
		return printJSON(w, made)
	}
	rows := uint64(0)
	for _, count := range made.Rows {
		rows += count
	}
	_, err := fmt.Fprintf(w, "%s  %s rows\n", report.Printable(made.Output), report.Count(rows))
	return err
}

func ctlTriggersCommand() command {
	return ctlRequestCommand("triggers", "list what a recording waits for (--trigger), how often it came, and what came of it", (*control.Client).Triggers, (*ctlFlags).printTriggers)
}

func ctlFireCommand() command {
	return command{
		name: "fire", arguments: "TRIGGER [flags]", summary: "have a recording do what a trigger asks for, within its bounds",
		examples: []string{"caret-bpf ctl fire by-hand", "caret-bpf ctl fire by-hand --reason 'the driver braked'"},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineCtlFlags(flags)
			reason := flags.String("reason", "", "note this `TEXT` in the dataset")
			return func(ctx context.Context, c console, arguments []string) error {
				if len(arguments) != 1 {
					return fmt.Errorf("%w: name one trigger, which `caret-bpf ctl triggers` lists", errUsage)
				}
				return askAndShow(ctx, c, f, func(client *control.Client) ([]control.Trigger, error) {
					return client.Fire(ctx, arguments[0], control.FireRequest{Reason: *reason})
				}, (*ctlFlags).printTriggers)
			}
		},
	}
}

func (f *ctlFlags) printTriggers(w *output, all []control.Trigger) error {
	if f.json {
		return printJSON(w, control.Triggers{Triggers: all})
	}
	for _, t := range all {
		last := "never"
		if t.LastNs != 0 {
			last = time.Unix(0, t.LastNs).Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s  fired %s  suppressed %s  last %s  %s\n",
			report.Printable(t.Name), report.Count(t.Fired), report.Count(t.Suppressed), last, report.Printable(t.Definition))
		printOutcome(w, t.Output, t.Failed)
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "it waits for nothing: see --trigger of `caret-bpf record`")
	}
	return nil
}
