package report

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

// Screen is where tables are shown, and remembers what it had no room for. It is not safe for concurrent use.
type Screen struct {
	// Width is the number of cells of a line. 0 stands for what is no terminal: tables are as wide as they need.
	Width int

	leftOut   []string
	shortened bool
	rounded   bool
}

// leave notes a column that a table left out.
func (s *Screen) leave(title string) {
	if !slices.Contains(s.leftOut, title) {
		s.leftOut = append(s.leftOut, title)
	}
}

// writeLine writes a name that has a line to itself, or as many as it needs. Errors stay in w.
func (s *Screen) writeLine(w *bufio.Writer, name string) {
	lines := []string{name}
	if s.Width > 0 && Width(name) > s.Width {
		lines = wrap(name, s.Width)
	}
	for _, line := range lines {
		_, _ = w.WriteString(line + "\n")
	}
}

// Missing says what the tables so far had no room for, "" if for everything.
func (s *Screen) Missing() string {
	var parts []string
	switch count := len(s.leftOut); count {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("1 column is left out (%s)", s.leftOut[0]))
	default:
		parts = append(parts, fmt.Sprintf("%d columns are left out (%s)", count, strings.Join(s.leftOut, ", ")))
	}
	if s.shortened {
		parts = append(parts, "names are shortened")
	}
	if s.rounded {
		parts = append(parts, "times are rounded")
	}
	return strings.Join(parts, " and ")
}
