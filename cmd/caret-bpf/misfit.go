package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
)

const (
	// suggestions bounds the names that are offered for one that there is not, comparedNames those that are looked at.
	suggestions   = 3
	comparedNames = 10_000
)

// explain says what an expression or a PID does not fit, and what was perhaps meant.
func explain(m analyze.Misfit) string {
	var text strings.Builder
	fmt.Fprintf(&text, "no %s is called %q", m.Of, m.Text)
	if m.Pattern == nil {
		return fmt.Sprintf("no process %s was recorded", m.Text)
	}
	text.WriteString(": an expression has to fit the whole name")
	var quoted []string
	for _, name := range nearest(m) {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	if len(quoted) > 0 {
		fmt.Fprintf(&text, "; did you mean %s?", strings.Join(quoted, " or "))
	}
	return text.String()
}

// nearest are the names that the expression fits in part or, if there are none, those that are most like it.
func nearest(m analyze.Misfit) []string {
	names := m.Names[:min(len(m.Names), comparedNames)]
	var near []string
	for _, name := range names {
		if m.Pattern.MatchString(name) {
			near = append(near, name)
		}
	}
	distance := func(name string) int { return editDistance(m.Text, name) }
	if len(near) == 0 {
		const share = 3 // of a name: more edits make any name of any other
		for _, name := range names {
			if distance(name) <= len(name)/share {
				near = append(near, name)
			}
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	return near[:min(len(near), suggestions)]
}
