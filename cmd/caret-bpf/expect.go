package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/expect"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

func expectCommand() command {
	return command{
		name: "expect", arguments: "[--from] DATASET… [flags]", summary: "make a first file of expectations for `caret-bpf verify` from a recording that is as it should be",
		examples: []string{"caret-bpf expect --from rec -o expect.yaml", "caret-bpf expect monday tuesday --runs -o expect.yaml", "caret-bpf expect --schema >expect.schema.json"},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			from := flags.StringArray("from", nil, "make them from this `DATASET`, as without the flag; repeatable")
			output := flags.StringP("output", "o", "", "write this `FILE` instead of printing")
			margin := flags.Float64("margin", 5, "how much medians and rates may differ, in `PERCENT`")
			areRuns := flags.Bool("runs", false, "each dataset is another run of the system: bounds hold for all of them, and nothing is expected of what came in some only")
			schema := flags.Bool("schema", false, "print the JSON schema of such files, for editors, and nothing else")
			times := defineTimeFlags(flags)
			attributes := defineAttributeFlag(flags)
			quiet := quietFlag(flags)
			return func(ctx context.Context, c console, arguments []string) (err error) {
				arguments = append(slices.Clone(*from), arguments...)
				if *schema {
					return printExpectSchema(c, arguments)
				}
				if len(arguments) == 0 {
					return fmt.Errorf("%w: name a dataset, or several of one system", errUsage)
				}
				if !(*margin >= 0 && *margin < 100) {
					return fmt.Errorf("%w: --margin is at least 0 and less than 100", errUsage)
				}
				datasets, ask, err := askedOf(ctx, c, attributes, times, *quiet, arguments)
				if err != nil {
					return err
				}
				runs := []expect.Run{{Datasets: datasets, Ask: ask}}
				if *areRuns {
					runs = nil
					for i := range datasets {
						one := datasets[i : i+1]
						runs = append(runs, expect.Run{Datasets: one, Ask: askOf(c, times, *quiet, one)})
					}
				}
				write := func(w io.Writer) error {
					warnings, err := expect.Propose(ctx, w, runs, *margin/100)
					endProgress(c.err, *quiet)
					warn(c, *quiet, warnings)
					return err
				}
				if *output == "" {
					return write(c.out)
				}
				file, err := wholefile.Create(*output, 0o640, c.caller)
				if err != nil {
					return fmt.Errorf("write expectations: %w", err)
				}
				if err := write(file); err != nil {
					return errors.Join(err, file.Discard())
				}
				return file.Commit()
			}
		},
	}
}

func printExpectSchema(c console, arguments []string) error {
	if err := noArguments(arguments); err != nil {
		return err
	}
	schema, err := expect.Schema()
	if err != nil {
		return err
	}
	_, err = c.out.Write(schema)
	return err
}
