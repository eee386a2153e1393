package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/trace"
)

func versionCommand() command {
	return command{
		name: "version", summary: "print the version",
		define: func(*pflag.FlagSet) func(context.Context, console, []string) error {
			return func(_ context.Context, c console, arguments []string) error {
				if err := noArguments(arguments); err != nil {
					return err
				}
				fmt.Fprintf(c.out, "caret-bpf %s (dataset format %d, %s, %s/%s)\n", version, trace.FormatVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return nil
			}
		},
	}
}
