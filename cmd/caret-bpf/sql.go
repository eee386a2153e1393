package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/export/lake"
	"github.com/caret-bpf/caret-bpf/export/lake/lakeviews"
	"github.com/caret-bpf/caret-bpf/report"
	"github.com/caret-bpf/caret-bpf/trace"
	"github.com/caret-bpf/caret-bpf/wholefile"
)

func sqlCommand() command {
	return command{
		name: "sql", arguments: "DATASET | --lake LAKE [flags]",
		summary: "print SQL views of a dataset or a lake: its tables, and the answers of latency and info",
		examples: []string{
			"caret-bpf sql rec --write && duckdb -init rec/views.sql",
			"caret-bpf sql rec --dialect spark --write && spark-sql -i rec/views.spark.sql",
			"caret-bpf sql --lake s3://fleet/ros --dialect trino",
		},
		define: func(flags *pflag.FlagSet) func(context.Context, console, []string) error {
			write := flags.Bool("write", false, "write them into the dataset's directory instead: to "+analyze.ViewsFile+" those for DuckDB, to "+
				analyze.ViewsFileIn("spark")+" those for Spark, and so on")
			dialect := flags.String("dialect", analyze.Dialects()[0], "for which engine: "+strings.Join(analyze.Dialects(), ", "))
			of := flags.String("lake", "", "views of this lake, which publish has written: a `DIRECTORY`, or s3://BUCKET/PREFIX")
			keys := flags.StringArray("partition", nil, "a partition `KEY` of the lake, as publish was told; repeatable; those of a directory are found")
			return func(_ context.Context, c console, arguments []string) error {
				if *of != "" {
					if len(arguments) > 0 || *write {
						return fmt.Errorf("%w: --lake goes with no dataset and not with --write", errUsage)
					}
					views, err := lakeviews.Views(*of, *dialect, *keys)
					if errors.Is(err, analyze.ErrDialect) || errors.Is(err, lake.ErrPartition) {
						return fmt.Errorf("%w: %w", errUsage, err)
					}
					if err != nil {
						return err
					}
					_, err = fmt.Fprint(c.out, views)
					return err
				}
				if len(arguments) != 1 {
					return fmt.Errorf("%w: name one dataset, or a lake with --lake", errUsage)
				}
				if len(*keys) > 0 {
					return fmt.Errorf("%w: --partition goes with --lake", errUsage)
				}
				d, err := trace.Open(trace.Locate(arguments[0]))
				if err != nil {
					return err
				}
				views, err := analyze.ViewsIn(d, *dialect)
				switch {
				case errors.Is(err, analyze.ErrDialect):
					return fmt.Errorf("%w: %w", errUsage, err)
				case err != nil:
					return err
				}
				if !*write {
					_, err = fmt.Fprint(c.out, views)
					return err
				}
				path := filepath.Join(d.Dir(), analyze.ViewsFileIn(*dialect))
				if err := wholefile.Write(path, []byte(views), viewsMode(d.Dir()), c.caller); err != nil {
					return err
				}
				said := "wrote " + report.Printable(path)
				if reads, ok := readViews[*dialect]; ok {
					said += "; " + reads + " " + report.Printable(path)
				}
				fmt.Fprintln(c.out, said)
				return nil
			}
		},
	}
}

// readViews are the commands that a file with views is given to, of engines whose views live as long as a session.
var readViews = map[string]string{"duckdb": "duckdb -init", "spark": "spark-sql -i"}

// viewsMode lets those read the views of a dataset who may read the dataset.
func viewsMode(dataset string) os.FileMode {
	const owner, readers os.FileMode = 0o600, 0o044
	info, err := os.Stat(filepath.Join(dataset, trace.SessionFile))
	if err != nil {
		return owner
	}
	return owner | info.Mode()&readers
}
