package main

import (
	"io"

	"github.com/caret-bpf/caret-bpf/report"
)

// printTable writes aligned columns. A header ending in ">" right-aligns its column. A console that cannot be written
// to is no reason to fail.
func printTable(w io.Writer, header []string, rows [][]string) {
	_ = report.Aligned(w, header, rows)
}
