package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/report"
)

func ctlCommand() command {
	return command{
		name: "ctl", arguments: "COMMAND", summary: "ask and drive running recordings that have --control",
		examples: []string{"caret-bpf ctl list", "caret-bpf ctl flush", "caret-bpf ctl stop --socket /tmp/recording.sock"},
		subcommands: []command{
			ctlListCommand(), ctlSourcesCommand(), ctlStatusCommand(), ctlStartCommand(), ctlFlushCommand(), ctlSnapshotCommand(), ctlRotateCommand(),
			ctlSettingsCommand(), ctlSetCommand(), ctlTargetsCommand(), ctlAddCommand(), ctlRemoveCommand(),
			ctlProbesCommand(), ctlTriggersCommand(), ctlFireCommand(), ctlStopCommand(),
		},
	}
}

// askPatience bounds what a recording may take to answer about itself.
const askPatience = 5 * time.Second

func ctlListCommand() command {
	return command{
		name: "list", summary: "list the recordings with --control auto that you may ask",
		examples: []string{"caret-bpf ctl list", "sudo caret-bpf ctl list", "caret-bpf ctl list --json | jq -r '.[].socket'"},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			asJSON := flags.Bool("json", false, "print the answer as JSON")
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				found, denied := askAll(ctx, c.findSockets())
				if err := printServed(c.out, found, *asJSON); err != nil {
					return err
				}
				for _, err := range denied {
					fmt.Fprintln(c.err, "warning:", report.Printable(err.Error()))
				}
				return nil
			}
		},
	}
}

// printServed lists recordings.
func printServed(w *output, found []served, asJSON bool) error {
	if asJSON {
		return printJSON(w, append([]served{}, found...)) // none are a list, too
	}
	for _, r := range found {
		if _, err := fmt.Fprintf(w, "%s  PID %d  %s  %s  %s\n", r.Socket, r.PID, r.State, elapsed(r.Status), report.Printable(r.Output)); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(w, "no recording with --control auto answers")
		return err
	}
	return nil
}

// served is a recording that answers.
type served struct {
	Socket string `json:"socket"`
	control.Status
}

// askAll returns the recordings that answer, and what became of the others, but for those that nobody serves any more.
func askAll(ctx context.Context, sockets []string) (found []served, problems []error) {
	for _, socket := range sockets {
		ctx, cancel := context.WithTimeout(ctx, askPatience)
		status, err := control.NewClient(socket).Status(ctx)
		cancel()
		switch {
		case err == nil:
			found = append(found, served{socket, status})
		case !errors.Is(err, control.ErrNobody):
			problems = append(problems, err)
		}
	}
	return found, problems
}

// ctlFlags say which recording is meant, and how it is printed.
type ctlFlags struct {
	socket string
	json   bool
}

func defineCtlFlags(flags *pflag.FlagSet) *ctlFlags {
	f := new(ctlFlags)
	flags.StringVar(&f.socket, "socket", "", "the `PATH` of the recording's --control (default: the only one that `ctl list` shows)")
	flags.BoolVar(&f.json, "json", false, "print the answer as JSON")
	return f
}

// client is for the recording that is meant.
func (f *ctlFlags) client(ctx context.Context, c console) (*control.Client, error) {
	if f.socket != "" {
		return control.NewClient(f.socket), nil
	}
	found, problems := askAll(ctx, c.findSockets())
	switch {
	case len(found) == 1:
		return control.NewClient(found[0].Socket), nil
	case len(found) > 1:
		var sockets []string
		for _, r := range found {
			sockets = append(sockets, r.Socket)
		}
		return nil, fmt.Errorf("%w: there are several recordings; name one with --socket: %s", errUsage, strings.Join(sockets, ", "))
	}
	return nil, errors.Join(append(problems, fmt.Errorf("%w: no recording with --control auto answers; name its socket with --socket", control.ErrNobody))...)
}

func ctlStatusCommand() command {
	return ctlRequestCommand("status", "show how a recording goes", (*control.Client).Status, (*ctlFlags).print)
}

func ctlStartCommand() command {
	return ctlRequestCommand("start", "begin a recording that waits for it (--deferred-start); the answer comes when it has begun",
		(*control.Client).Start, (*ctlFlags).print)
}

func ctlFlushCommand() command {
	return ctlRequestCommand("flush", "bring what was recorded so far to disk, open callbacks included", (*control.Client).Flush, (*ctlFlags).print)
}

func ctlStopCommand() command {
	return ctlRequestCommand("stop", "end a recording; the answer does not wait for its end", (*control.Client).Stop, (*ctlFlags).print)
}

func ctlRequestCommand[Answer any](
	name, summary string, ask func(*control.Client, context.Context) (Answer, error), show func(*ctlFlags, *output, Answer) error,
) command {
	return command{
		name: name, arguments: "[flags]", summary: summary,
		examples: []string{"caret-bpf ctl " + name, "caret-bpf ctl " + name + " --socket /tmp/recording.sock --json"},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineCtlFlags(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				return askAndShow(ctx, c, f, func(client *control.Client) (Answer, error) { return ask(client, ctx) }, show)
			}
		},
	}
}

// askAndShow asks the recording that is meant, and shows its answer.
func askAndShow[Answer any](
	ctx context.Context, c console, f *ctlFlags, ask func(*control.Client) (Answer, error), show func(*ctlFlags, *output, Answer) error,
) error {
	client, err := f.client(ctx, c)
	if err != nil {
		return err
	}
	answer, err := ask(client)
	if err != nil {
		return err
	}
	return show(f, c.out, answer)
}

func (f *ctlFlags) print(w *output, s control.Status) error {
	if f.json {
		return printJSON(w, s)
	}
	rows := uint64(0)
	for _, count := range s.Rows {
		rows += count
	}
	_, err := fmt.Fprintf(w, "PID %d  %s  %s  %s\n%d processes  %s rows  lost %s  %s not probed in time  overhead %.1f%%\n",
		s.PID, s.State, elapsed(s), report.Printable(s.Output),
		s.Processes, report.Count(rows), report.Count(s.Lost), counted(s.Unarmed, "file"), 100*s.Overhead)
	if former := s.Former; err == nil && former != (control.Former{}) {
		_, err = fmt.Fprintf(w, "beside it %s of %.1f MiB  %d removed\n", counted(former.Kept, "recording"), float64(former.Bytes)/(1<<20), former.Removed)
	}
	if u := s.Uploads; u != nil && err == nil {
		_, err = fmt.Fprintf(w, "%s\n", report.Printable(uploadsLine(u)))
	}
	return err
}

// uploadsLine says what has arrived in the lake, and what waits.
func uploadsLine(u *control.Uploads) string {
	line := fmt.Sprintf("uploads to %s: %d arrived  %d wait (%s)", u.To, u.Arrived, u.Waiting, megabytes(u.WaitingBytes))
	if u.Failed > 0 {
		line += fmt.Sprintf("  %d failed", u.Failed)
	}
	if u.Gone > 0 {
		line += fmt.Sprintf("  %d removed before they had arrived", u.Gone)
	}
	if u.OfflineSinceNs != 0 {
		line += "  offline since " + time.Unix(0, u.OfflineSinceNs).UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if u.Reason != "" {
		line += ": " + u.Reason
	}
	return line
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

func printJSON(w io.Writer, content any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(content)
}

func elapsed(s control.Status) time.Duration { return time.Duration(s.ElapsedNs).Round(time.Second) }
