package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/report"
)

// outputFlags are the flags of commands that print rows.
type outputFlags struct {
	json, csv, formulas *bool
	parquet             *string
	// order, if not nil, is how writeRows orders rows.
	order *orderFlags
}

// isTable tells whether rows are for people.
func (o outputFlags) isTable() bool { return !*o.json && !*o.csv && *o.parquet == "" }

func defineOutputFlags(flags *pflag.FlagSet) outputFlags {
	defineWideFlag(flags)
	return outputFlags{
		json:     flags.Bool("json", false, "print JSON"),
		csv:      flags.Bool("csv", false, "print CSV"),
		formulas: flags.Bool("csv-formulas", false, "with --csv: no apostrophe before text that a spreadsheet would take for a formula"),
		parquet:  flags.String("parquet", "", "write a Parquet `FILE` instead of printing"),
	}
}

// check refuses contradictions.
func (o outputFlags) check() error {
	chosen := 0
	for _, set := range []bool{*o.json, *o.csv, *o.parquet != ""} {
		if set {
			chosen++
		}
	}
	if chosen > 1 {
		return fmt.Errorf("%w: choose one of --json, --csv and --parquet", errUsage)
	}
	if *o.formulas && !*o.csv {
		return fmt.Errorf("%w: --csv-formulas goes with --csv", errUsage)
	}
	return nil
}

// rowWriter begins a report in the form that the flags choose, by default a table. Close or Discard it: a Parquet file
// is under a temporary name until then.
func rowWriter[T any](c console, o outputFlags) (*report.Writer[T], error) {
	switch {
	case *o.parquet != "":
		return report.NewParquetWriter[T](*o.parquet, c.caller)
	case *o.json:
		return report.NewWriter[T](c.out, report.JSON)
	case *o.csv && *o.formulas:
		return report.NewWriter[T](c.out, report.CSVWithFormulas)
	case *o.csv:
		return report.NewWriter[T](c.out, report.CSV)
	}
	return report.NewTableWriter[T](c.out, &c.out.screen)
}

// writeRows writes the rows of a report, all of them unless the flags set a limit.
func writeRows[T any](c console, o outputFlags, rows []T) error {
	if o.order != nil {
		by, sorts, err := order[T](o.order, "")
		if err != nil {
			return err
		}
		if sorts {
			if err := report.Sort(rows, by, nil); err != nil {
				return err
			}
		}
		var left int
		rows, left = limited(o.order, 0, rows)
		defer o.order.tellLeft(c, false, left)
	}
	w, err := rowWriter[T](c, o)
	if err != nil {
		return err
	}
	return errors.Join(w.Write(rows), w.Close())
}
