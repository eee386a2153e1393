package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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
	// Trace events belong to root. With uprobe_multi nobody needs them.
	needsTracefs := features.UprobeMulti != nil
	var lines []checked
	for _, capability := range []struct {
		name     string
		number   uint
		use      string
		required bool
		part     string
	}{
		{"CAP_BPF", unix.CAP_BPF, "loading BPF programs", true, ""},
		{"CAP_PERFMON", unix.CAP_PERFMON, "attaching uprobes", true, ""},
		{"CAP_SYS_PTRACE", unix.CAP_SYS_PTRACE, "reading the mappings and the memory of other users' processes: nothing else gives access", false, "other users' processes"},
		{"CAP_CHECKPOINT_RESTORE", unix.CAP_CHECKPOINT_RESTORE, "opening files that a process has mapped and no path leads to: they were deleted or replaced, or are in a container", false, "processes in containers, replaced files"},
		{"CAP_DAC_READ_SEARCH", unix.CAP_DAC_READ_SEARCH, "reading what /proc shows of a process to its owner only, and files that others keep to themselves", false, "other users' processes"},
		{"CAP_SETUID", unix.CAP_SETUID, "reading the files that a process names (message definitions, libraries to come) with the rights of its user", false, "files that other users' processes name"},
		{"CAP_SETGID", unix.CAP_SETGID, "the same, with the rights of its groups", false, "files that other users' processes name"},
		{"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN, "ending a FUSE connection for which attaching waits: a user can keep every process of the machine from forking so", false, "machines with hostile users"},
		{"CAP_DAC_OVERRIDE", unix.CAP_DAC_OVERRIDE, "making trace events without uprobe_multi, and writing to folders of others", needsTracefs, "folders of others"},
	} {
		line := checked{Name: capability.name, Works: hasCapability(capability.number), Required: capability.required, For: capability.part}
		if !line.Works {
			line.Remedy = "needed for " + capability.use + "; run with sudo, or give it with setcap or systemd's AmbientCapabilities"
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

// hasCapability reports whether this process has a capability; CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and
// CAP_CHECKPOINT_RESTORE, CAP_DAC_OVERRIDE includes CAP_DAC_READ_SEARCH.
func hasCapability(number uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3, Pid: int32(os.Getpid())}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	holds := func(number uint) bool { return data[number/32].Effective&(1<<(number%32)) != 0 }
	switch number {
	case unix.CAP_DAC_READ_SEARCH:
		return holds(number) || holds(unix.CAP_DAC_OVERRIDE)
	case unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE:
		return holds(number) || holds(unix.CAP_SYS_ADMIN)
	}
	return holds(number)
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
