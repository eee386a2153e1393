package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/session"
	"github.com/caret-bpf/caret-bpf/target"
)

func probesCommand() command {
	return command{
		name: "probes", arguments: "-p PIDS [flags]",
		summary: "show where a recording would probe processes, and what is missing",
		examples: []string{
			"sudo caret-bpf probes -p 1234",
			`sudo caret-bpf probes -p "$(pgrep -f component_container)" --json`,
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			pids := flags.StringP("pid", "p", "", "the processes' `PIDS`, separated by commas or white space; those that cannot be recorded are warned of and left out")
			asJSON := flags.Bool("json", false, "print JSON")
			defineWideFlag(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				if *pids == "" {
					return fmt.Errorf("%w: name the processes with -p", errUsage)
				}
				finder := target.NewFinder()
				found, err := findByPIDs(ctx, c, finder, *pids)
				if err != nil {
					return err
				}
				commands := make(map[target.Identity]string)
				plans, cache := []*probes.Plan{}, probes.NewCache()
				costs, origin := knownCosts(c)
				for _, p := range found {
					plan, planError := probes.NewPlan(ctx, p, probes.Options{Expected: true, Callers: true, Costs: costs, Cache: cache})
					err = errors.Join(err, planError)
					if plan != nil {
						commands[plan.Process] = p.Command
						plans = append(plans, plan)
					}
					_ = p.Close()
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if *asJSON {
					return errors.Join(err, report.WriteJSON(c.out, plans))
				}
				for _, plan := range plans {
					printPlan(c, plan, commands[plan.Process])
				}
				links := session.ChooseLinks(ctx, finder, len(found), costs)
				fmt.Fprintf(c.out, "record would make probes %s\n", &links)
				fmt.Fprintln(c.out, origin)
				return err
			}
		},
	}
}

// printPlan writes where a process is probed. The command is its name.
func printPlan(c console, plan *probes.Plan, command string) {
	fmt.Fprintf(c.out, "%s: %s, %s\n\n", describeProcess(plan.Process.PID, command), report.Text(string(plan.Distro)), report.Text(report.Printable(plan.RMW)))
	var rows [][]string
	for _, site := range plan.Sites {
		state := "mapped"
		if site.Armed {
			state = "armed"
		}
		rows = append(rows, []string{
			site.Event.String(), site.Library, fmt.Sprintf("%#x", site.Offset), site.Class.String(), site.Emulation, probes.FormatCost(site.Cost),
			site.Role.String(), state, string(site.Provenance), site.Symbol,
		})
	}
	printTable(c.out, []string{"EVENT", "LIBRARY", "OFFSET>", "CLASS", "INSTRUCTION", "COST>", "SITE", "STATE", "PROVENANCE", "SYMBOL"}, rows)
	if plan.Unread != nil {
		fmt.Fprintf(c.out, "\n%s\n", report.Printable(plan.Unread.Error()))
	}
	if len(plan.Uncertain) > 0 {
		fmt.Fprintln(c.out, "\nbodies stay probed, because not all callers are certain:")
		rows = nil
		for _, uncertain := range plan.Uncertain {
			rows = append(rows, []string{uncertain.Event.String(), uncertain.Library, uncertain.Reason})
		}
		printTable(c.out, []string{"EVENT", "LIBRARY", "REASON|"}, rows)
	}
	if len(plan.Missing) > 0 {
		fmt.Fprintln(c.out, "\nmissing:")
		rows = nil
		for _, missing := range plan.Missing {
			rows = append(rows, []string{missing.Event.String(), missing.Reason, missing.Consequence})
		}
		printTable(c.out, []string{"EVENT", "REASON|", "CONSEQUENCE|"}, rows)
	}
	fmt.Fprintln(c.out)
}
