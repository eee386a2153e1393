package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/loader"
	"github.com/caret-bpf/caret-bpf/report"
)

// checked is one line of `check`.
type checked struct {
	Name     string `json:"name"`
	Works    bool   `json:"works"`
	Required bool   `json:"required"`
	// For says what cannot be recorded without it, where that is a part only; "" where something else does its work.
	For string `json:"for,omitempty"`
	// Remedy says why it does not work and what to do about it.
	Remedy string `json:"remedy,omitempty"`
}

func checkCommand() command {
	return command{
		name: "check", arguments: "[flags]",
		summary: "say what works on this machine, and what to do about the rest",
		examples: []string{
			"sudo caret-bpf check",
			"sudo caret-bpf check --calibrate",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			asJSON := flags.Bool("json", false, "print JSON")
			defineWideFlag(flags)
			calibrates := flags.Bool("calibrate", false, "measure what hits of each kind of instruction cost on this machine, and keep it: recordings choose by it")
			return func(ctx context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				if *calibrates {
					return calibrate(ctx, c, *asJSON)
				}
				features := loader.Probe()
				limits, limitError := checkLimits(loader.Limits(features))
				lines := slices.Concat(checkCapabilities(features), checkFeatures(features), limits)
				missing := cmp.Or(features.Missing(), limitError)
				if *asJSON {
					if err := report.WriteJSON(c.out, lines); err != nil {
						return err
					}
					return missing
				}
				var name unix.Utsname
				if err := unix.Uname(&name); err == nil {
					fmt.Fprintf(c.out, "Linux %s on %s\n\n", unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Machine[:]))
				}
				var rows [][]string
				for _, line := range lines {
					rows = append(rows, []string{line.Name, line.state(), line.Remedy})
				}
				printTable(c.out, []string{"WHAT", "STATE", "REMEDY|"}, rows)
				return missing
			}
		},
	}
}

func (c checked) state() string {
	switch {
	case c.Works:
		return "works"
	case c.Required:
		return "MISSING"
	case c.For != "":
		return "missing for " + c.For
	}
	return "missing, has a fallback"
}

// checkCapabilities names each privilege, so that caret-bpf can run with the fewest.
func checkCapabilities(features loader.Features) []checked {
	var lines []checked
	for _, p := range privileges(features.UprobeMulti != nil) {
		line := checked{Name: p.name, Works: hasCapability(p.number), Required: p.required, For: p.part}
		if !line.Works {
			line.Remedy = "needed for " + p.use + "; run with sudo, or give it with setcap or systemd's AmbientCapabilities"
		}
		lines = append(lines, line)
	}
	return lines
}

// checkLimits also returns what is wrong with those limits that recording cannot do with.
func checkLimits(limits []loader.Limit) (lines []checked, failure error) {
	for _, limit := range limits {
		line := checked{Name: limit.Name, Works: limit.Err == nil, Required: limit.Required, For: "many processes"}
		if limit.Required {
			line.For = ""
		}
		if limit.Err != nil {
			line.Remedy = limit.Err.Error()
			if limit.Required {
				failure = errors.Join(failure, fmt.Errorf("%s: %w", limit.Name, limit.Err))
			}
		}
		lines = append(lines, line)
	}
	return lines, failure
}

func checkFeatures(features loader.Features) []checked {
	var lines []checked
	for _, feature := range features.List() {
		line := checked{Name: feature.Name, Works: feature.Err == nil, Required: feature.Required}
		if feature.Kernel != "" {
			line.Name += " (Linux " + feature.Kernel + ")"
		}
		if feature.Err != nil {
			line.Remedy = feature.Err.Error()
		}
		lines = append(lines, line)
	}
	return lines
}
