package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/bpf/abi"
	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/target"
)

func listCommand() command {
	return command{
		name: "list", arguments: "[flags]",
		summary: "list the ROS 2 processes and what can be recorded of them, or their nodes, topics and executors",
		examples: []string{
			"sudo caret-bpf list",
			"sudo caret-bpf list --name component_container --entities",
			"sudo caret-bpf list -p 1234 --json",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			asJSON := flags.Bool("json", false, "print JSON")
			name := flags.String("name", "", "only processes whose command or command line matches the `REGEXP`")
			pids := flags.StringP("pid", "p", "", "only the processes with these `PIDS`, separated by commas or white space")
			entities := flags.Bool("entities", false, "list nodes, topics, timers, services, executors, read from the processes' memory")
			asDot := flags.Bool("dot", false, "with --entities, print a graph for Graphviz")
			all := allEntitiesFlag(flags)
			defineWideFlag(flags)
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				if *asDot && (!*entities || *asJSON) {
					return fmt.Errorf("%w: --dot goes with --entities and without --json", errUsage)
				}
				if *all && !*entities {
					return fmt.Errorf("%w: --%s goes with --entities", errUsage, allEntities)
				}
				found, err := findListed(ctx, c, *pids, *name)
				defer closeAll(found)
				if err != nil {
					return err
				}
				if *entities {
					return listEntities(ctx, c, found, *asJSON, *asDot, *all)
				}
				return listProcesses(ctx, c, found, *asJSON)
			}
		},
	}
}

// findByPIDs opens the processes of a list and warns of those that cannot be looked at. It fails when there is none
// other.
func findByPIDs(ctx context.Context, c console, finder *target.Finder, list string) ([]*target.Process, error) {
	found, refused, err := finder.ByPIDs(ctx, list)
	if err != nil {
		return nil, err
	}
	for _, err := range refused {
		c.complain(fmt.Errorf("left out: %w", err))
	}
	return found, nil
}

// findListed opens the processes that were asked for: by PID, or by name. Whatever could not be looked at is no error
// unless privileges are missing and nothing was found: then nobody knows whether there is something.
func findListed(ctx context.Context, c console, pids, name string) ([]*target.Process, error) {
	finder := target.NewFinder()
	finder.Trust(uint32(c.caller.ID()))
	if pids != "" {
		if name != "" {
			return nil, fmt.Errorf("%w: name processes with -p or with --name", errUsage)
		}
		return findByPIDs(ctx, c, finder, pids)
	}
	expression, err := regexp.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: --name: %w", errUsage, err)
	}
	found, err := finder.ByName(ctx, expression)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(found) == 0 && errors.Is(err, target.ErrPermission) {
		return nil, fmt.Errorf("no ROS 2 process was found: %w", err)
	}
	if err != nil {
		c.complain(fmt.Errorf("not everything could be looked at: %w", err))
	}
	return found, nil
}

func listProcesses(ctx context.Context, c console, found []*target.Process, asJSON bool) error {
	processes, err := describeAll(ctx, found)
	if err != nil {
		return err
	}
	if asJSON {
		return report.WriteJSON(c.out, processes)
	}
	printSources(c.out, processes)
	return nil
}

// printSources prints the processes that can be recorded.
func printSources(w *output, sources []control.Source) {
	if len(sources) == 0 {
		fmt.Fprintln(w, noProcess)
		return
	}
	var rows [][]string
	for _, s := range sources {
		rows = append(rows, []string{
			strconv.Itoa(int(s.PID)), s.Command, report.Text(s.Distro), report.Text(s.RMW), strconv.Itoa(s.Events), strconv.Itoa(len(s.Missing)),
		})
	}
	printTable(w, []string{"PID>", "COMMAND", "DISTRO", "RMW", "EVENTS>", "MISSING>"}, rows)
}

func closeAll(found []*target.Process) {
	for _, p := range found {
		p.Close()
	}
}

func describeAll(ctx context.Context, found []*target.Process) ([]control.Source, error) {
	processes := []control.Source{}
	for _, p := range found {
		processes = append(processes, describeListed(ctx, p))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return processes, nil
}

const noProcess = "no ROS 2 process is running (none maps librcl.so or libtracetools.so)"

func describeListed(ctx context.Context, p *target.Process) control.Source {
	l := control.Source{
		PID: p.PID, NamespacePID: p.NamespacePID, Command: p.Command, Executable: p.Executable, Distro: string(p.Distro),
		Evidence: p.DistroEvidence, RMW: p.RMW, Missing: []string{},
	}
	plan, err := probes.NewPlan(ctx, p, probes.Options{Expected: true})
	if err != nil && !errors.Is(err, probes.ErrRequiredMissing) {
		l.Missing = append(l.Missing, err.Error())
		return l
	}
	events := map[abi.Event]bool{}
	for _, site := range plan.Sites {
		events[site.Event] = true
	}
	l.Events = len(events)
	for _, missing := range plan.Missing {
		l.Missing = append(l.Missing, missing.Event.String())
	}
	return l
}
