package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/settings"
)

func ctlSettingsCommand() command {
	return ctlRequestCommand("settings", "show the settings of a recording that `caret-bpf ctl set` changes", (*control.Client).Settings, (*ctlFlags).printSettings)
}

func ctlSetCommand() command {
	return command{
		name: "set", arguments: "SETTINGS [flags]", summary: "change filters, profile or budget of a recording; what is not named stays as it is",
		examples: []string{
			"caret-bpf ctl set --select-node ^/planning",
			"caret-bpf ctl set --select-node '' --profile minimal",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineCtlFlags(flags)
			profile := flags.String("profile", "", "`WHICH` events: minimal, standard, full; at most the profile with which the recording began")
			overhead := new(float64)
			flags.Var((*percentage)(overhead), "max-overhead", "the `SHARE` of a thread's time that recording may cost, such as 2%; 100%: no limit")
			lists := map[string]*[]string{}
			for _, name := range []string{"select-node", "ignore-node", "select-topic", "ignore-topic"} {
				lists[name] = flags.StringArray(name, nil, "in place of the former ones, a `REGEXP` as of record --"+name+" (repeatable); '': none")
			}
			settings.Annotate(flags, "profile", settings.Values, textsOf(probes.Profiles())...)
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				var change control.SettingsChange
				if flags.Changed("profile") {
					change.Profile = profile
				}
				if flags.Changed("max-overhead") {
					change.MaxOverhead = overhead
				}
				for name, into := range map[string]**[]string{
					"select-node": &change.SelectNodes, "ignore-node": &change.IgnoreNodes,
					"select-topic": &change.SelectTopics, "ignore-topic": &change.IgnoreTopics,
				} {
					if flags.Changed(name) {
						*into = lists[name]
					}
				}
				if change == (control.SettingsChange{}) {
					return fmt.Errorf("%w: name what is to be changed, such as --select-node or --profile", errUsage)
				}
				return askAndShow(ctx, c, f, func(client *control.Client) (control.Settings, error) {
					return client.Change(ctx, change)
				}, (*ctlFlags).printSettings)
			}
		},
	}
}

func (f *ctlFlags) printSettings(w *output, s control.Settings) error {
	if f.json {
		return printJSON(w, s)
	}
	limit := "none"
	if s.MaxOverhead > 0 {
		limit = fmt.Sprintf("%g%%", 100*s.MaxOverhead)
	}
	list := func(expressions []string) string {
		if len(expressions) == 0 {
			return "none"
		}
		return report.Printable(strings.Join(expressions, "  "))
	}
	_, err := fmt.Fprintf(w, "profile       %s\nmax-overhead  %s\nselect-node   %s\nignore-node   %s\nselect-topic  %s\nignore-topic  %s\n",
		s.Profile, limit, list(s.SelectNodes), list(s.IgnoreNodes), list(s.SelectTopics), list(s.IgnoreTopics))
	return err
}
