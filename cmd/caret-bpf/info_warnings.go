package main

import (
	"fmt"
	"io"

	"github.com/caret-bpf/caret-bpf/alike"
	"github.com/caret-bpf/caret-bpf/analyze/summary"
	"github.com/caret-bpf/caret-bpf/report"
)

// warningRow is a row of `info --part warnings`.
type warningRow struct {
	Warning string `json:"warning" report:"warning,prose"`
}

// writeWarnings writes every warning.
func writeWarnings(c console, o outputFlags, s *summary.Summary) error {
	rows := []warningRow{}
	for _, warning := range s.Warnings {
		rows = append(rows, warningRow{warning})
	}
	return writeRows(c, o, rows)
}

// printWarnings shows one warning of each kind, and how many there are.
func printWarnings(w io.Writer, all []string) {
	grouped := alike.Group(all)
	for _, warning := range grouped {
		fmt.Fprintln(w, "warning:", report.Printable(warning))
	}
	if len(grouped) < len(all) {
		fmt.Fprintln(w, "`info --part warnings` shows all")
	}
}
