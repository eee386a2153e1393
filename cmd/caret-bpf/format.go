package main

import (
	"fmt"

	"github.com/caret-bpf/caret-bpf/report"
)

// describeProcess is how texts name a process: by its PID and its command, as far as that is known.
func describeProcess(pid int32, command string) string {
	if command == "" {
		return fmt.Sprintf("PID %d", pid)
	}
	return fmt.Sprintf("PID %d %s", pid, report.Printable(command))
}

// printTable writes aligned columns that fit the screen. A header ending in ">" right-aligns its column, one in "|" is
// of prose. A console that cannot be written to is no reason to fail.
func printTable(w *output, header []string, rows [][]string) {
	_ = report.Aligned(w, &w.screen, header, rows)
}
