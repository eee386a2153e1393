package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/caret-bpf/caret-bpf/loader"
)

// checked is one line of `check`.
type checked struct {
	Name     string `json:"name"`
	Works    bool   `json:"works"`
	Required bool   `json:"required"`
	// Remedy says why it does not work and what to do about it.
	Remedy string `json:"remedy,omitempty"`
}

func checkCommand() command {
	return command{
		name: "check", arguments: "[flags]",
		summary: "say what works on this machine, and what to do about the rest",
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			asJSON := flags.Bool("json", false, "print JSON")
			return func(_ context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				features := loader.Probe()
				lines := append(checkCapabilities(), checkFeatures(features)...)
				if *asJSON {
					if err := printJSON(c.out, lines); err != nil {
						return err
					}
					return features.Missing()
				}
				var name unix.Utsname
				if err := unix.Uname(&name); err == nil {
					fmt.Fprintf(c.out, "Linux %s on %s\n\n", unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Machine[:]))
				}
				var rows [][]string
				for _, line := range lines {
					state := "works"
					switch {
					case !line.Works && line.Required:
						state = "MISSING"
					case !line.Works:
						state = "missing, has a fallback"
					}
					rows = append(rows, []string{line.Name, state, line.Remedy})
				}
				printTable(c.out, []string{"WHAT", "STATE", "REMEDY"}, rows)
				return features.Missing()
			}
		},
	}
}

// checkCapabilities names each privilege, so that caret-bpf can run with the fewest.
func checkCapabilities() []checked {
	var lines []checked
	for _, capability := range []struct {
		name     string
		number   uint
		use      string
		required bool
	}{
		{"CAP_BPF", unix.CAP_BPF, "loading BPF programs", true},
		{"CAP_PERFMON", unix.CAP_PERFMON, "attaching uprobes", true},
		{"CAP_SYS_PTRACE", unix.CAP_SYS_PTRACE, "reading the memory and the mappings of other users' processes", false},
		{"CAP_CHECKPOINT_RESTORE", unix.CAP_CHECKPOINT_RESTORE, "opening mapped files that were deleted or are in containers", false},
		{"CAP_SYS_RESOURCE", unix.CAP_SYS_RESOURCE, "locking memory on kernels before 5.11", false},
	} {
		line := checked{Name: capability.name, Works: hasCapability(capability.number), Required: capability.required}
		if !line.Works {
			line.Remedy = "needed for " + capability.use + ": run with sudo, or give it with setcap or systemd's AmbientCapabilities"
		}
		lines = append(lines, line)
	}
	return lines
}

// hasCapability reports whether this process has a capability; CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and
// CAP_CHECKPOINT_RESTORE.
func hasCapability(number uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3, Pid: int32(os.Getpid())}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	holds := func(number uint) bool { return data[number/32].Effective&(1<<(number%32)) != 0 }
	switch number {
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
