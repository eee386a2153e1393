package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/control"
	"github.com/caret-bpf/caret-bpf/probes"
)

func ctlProbesCommand() command {
	return withWideFlag(ctlRequestCommand("probes", "list where a recording probes processes now", (*control.Client).Probes, (*ctlFlags).printProbes))
}

// withWideFlag is for a command that prints a table.
func withWideFlag(made command) command {
	define := made.define
	made.define = func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
		run := define(flags)
		defineWideFlag(flags)
		return run
	}
	return made
}

func (f *ctlFlags) printProbes(w *output, all []control.Probe) error {
	if f.json {
		return printJSON(w, control.Probes{Probes: all})
	}
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{
			p.Event, p.File, fmt.Sprintf("%#x", p.Offset), p.Class, probes.FormatCost(time.Duration(p.CostNs)), p.Role, forWhom(p.PIDs), p.Symbol,
		})
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, "nothing is probed now")
		return nil
	}
	printTable(w, []string{"EVENT", "LIBRARY", "OFFSET>", "CLASS", "COST>", "SITE", "PROCESSES", "SYMBOL"}, rows)
	return nil
}

// shownPIDs is how many processes a table names.
const shownPIDs = 3

// forWhom says which processes have a probe alone; none means that all do.
func forWhom(pids []int) string {
	if len(pids) == 0 {
		return "every"
	}
	var names []string
	for _, pid := range pids[:min(len(pids), shownPIDs)] {
		names = append(names, strconv.Itoa(pid))
	}
	text := strings.Join(names, " ")
	if more := len(pids) - shownPIDs; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
