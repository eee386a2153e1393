package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/trace"
)

func versionCommand() command {
	return command{
		name: "version", arguments: "[flags]", summary: "print the version",
		examples: []string{
			"caret-bpf version",
			"caret-bpf version --distros",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			names := flags.Bool("distros", false, "print the ROS 2 distributions that it knows instead, oldest first")
			return func(_ context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				if *names {
					for _, distro := range distros.Released() {
						fmt.Fprintln(c.out, distro)
					}
					return nil
				}
				fmt.Fprintf(c.out, "caret-bpf %s (dataset format %d, %s, %s/%s)\n", version, trace.FormatVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return nil
			}
		},
	}
}
