package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/caret-bpf/caret-bpf/report"
)

// orderFlags say which rows come first, and how many come at all.
type orderFlags struct {
	sort  string
	limit int
}

func defineOrderFlags(flags *pflag.FlagSet) *orderFlags {
	f := new(orderFlags)
	flags.StringVar(&f.sort, "sort", "", "order rows by this `COLUMN`, named as in JSON and CSV: numbers from the greatest down, names from A to Z; -COLUMN the other way round")
	flags.IntVar(&f.limit, "limit", 0, "at most this `NUMBER` of rows, the first ones; how many are left out is said (default: all)")
	return f
}

// ranking is how the rows of an answer are ordered.
type ranking[S any] struct {
	// by is the column for --sort if none is given; "" leaves rows as they come.
	by string
	// together tells which rows that follow each other stay so, in their order.
	together func(a, b *S) bool
	// last tells which rows come behind all others, unless --sort is given; it may be nil. It is not for rows that stay
	// together.
	last func(*S) bool
}

// arrange orders rows by a column.
func (r *ranking[S]) arrange(rows []S, by report.Order, chosenByUser bool) error {
	if err := report.Sort(rows, by, r.together); err != nil {
		return err
	}
	if r.last != nil && !chosenByUser {
		report.PutLast(rows, r.last)
	}
	return nil
}

// worstFirst is the ranking of latencies. The 99th percentile tells what often goes wrong: the mean hides it, and the
// maximum is a single case.
const worstFirst = "p99"

// order returns the order by a column of rows of type S, none if neither the flag nor the default names one.
func order[S any](f *orderFlags, byDefault string) (by report.Order, chosen bool, err error) {
	if f.limit < 0 {
		return by, false, fmt.Errorf("%w: --limit takes a number from 1 on", errUsage)
	}
	if f.sort == "" {
		return report.Order{Column: byDefault}, byDefault != "", nil
	}
	by.Column, by.Reversed = strings.CutPrefix(f.sort, "-")
	names, err := report.Columns[S]()
	if err != nil {
		return by, false, err
	}
	if slices.Contains(names, by.Column) {
		return by, true, nil
	}
	meant := ""
	if similar := similar(by.Column, names); similar != "" {
		meant = fmt.Sprintf("; did you mean %q?", similar)
	}
	return by, false, fmt.Errorf("%w: --sort: no column %q%s; there are %s", errUsage, by.Column, meant, strings.Join(names, ", "))
}

// limited returns the rows that the limit leaves behind so many that were written, and the number of the others.
func limited[T any](f *orderFlags, written int, rows []T) (kept []T, left int) {
	if f.limit == 0 {
		return rows, 0
	}
	kept = rows[:min(len(rows), max(0, f.limit-written))]
	return kept, len(rows) - len(kept)
}

// tellLeft says how many rows a limit has left out.
func (f *orderFlags) tellLeft(c console, quiet bool, left int) {
	if left > 0 && !quiet {
		fmt.Fprintf(c.err, "--limit %d leaves out %s\n", f.limit, counted(left, "row"))
	}
}
