package main

import (
	"encoding/json"
	"io"

	"github.com/caret-bpf/caret-bpf/report"
)

// printTable writes aligned columns. A header ending in ">" right-aligns its column. A console that cannot be written to is no
// reason to fail.
func printTable(w io.Writer, header []string, rows [][]string) {
	_ = report.Aligned(w, header, rows)
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
