package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/view"
)

// errNoPage is returned by a program that was built without the page.
var errNoPage = errors.New("this caret-bpf was built without the page that it is to show: run `make web` (it needs Node) and then `make build`")

func viewCommand() command {
	return command{
		name: "view", arguments: "DATASET… [flags]", summary: "show recordings in a browser: graph, timeline, paths, latencies, losses",
		examples: []string{
			"caret-bpf view rec",
			"caret-bpf view rec --from /points --to /control",
			"caret-bpf view tuesday --baseline monday --port 8080",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			f := defineViewFlags(flags)
			port := flags.Int("port", 0, "answer at this `PORT` of 127.0.0.1 (default: any free one)")
			return func(ctx context.Context, c console, arguments []string) error {
				if *port < 0 || *port > 65535 || *port == 80 {
					return fmt.Errorf("%w: --port is a number up to 65535, but not 80, which browsers leave out of addresses", errUsage)
				}
				page, v, err := f.open(ctx, c, arguments, nil)
				if err != nil {
					return err
				}
				return serveView(ctx, c, *f.quiet, v, page, *port)
			}
		},
	}
}

// serveView serves a page until the user stops it.
func serveView(ctx context.Context, c console, quiet bool, v *view.View, page fs.FS, port int) error {
	server, err := view.Listen(port)
	if err != nil {
		return fmt.Errorf("serve the page: %w; --port chooses another port", err)
	}
	fmt.Fprintln(c.out, server.URL())
	if !quiet {
		fmt.Fprintln(c.err, "open this address in a browser on this machine; Ctrl-C stops")
	}
	return server.Serve(ctx, v, page)
}
