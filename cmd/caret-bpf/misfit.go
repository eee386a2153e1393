package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/analyze"
	"github.com/caret-bpf/caret-bpf/analyze/system"
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
	if near := nearest(m); len(near) > 0 {
		fmt.Fprintf(&text, "; did you mean %s?", quoted(near))
	}
	return text.String()
}

// nearest are the names that the expression fits in part or, if there are none, those that are most like it.
func nearest(m analyze.Misfit) []string {
	var parts []string
	for _, name := range m.Names[:min(len(m.Names), comparedNames)] {
		if m.Pattern.MatchString(name) {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return similarNames(m.Text, m.Names)
	}
	return mostSimilar(m.Text, parts)
}

// similarNames are those that a text may have been meant for.
func similarNames(text string, names []string) []string {
	const share = 3 // of a name: more edits make any name of any other
	var similar []string
	for _, name := range names[:min(len(names), comparedNames)] {
		if editDistance(text, name) <= len(name)/share {
			similar = append(similar, name)
		}
	}
	return mostSimilar(text, similar)
}

func mostSimilar(text string, names []string) []string {
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(editDistance(text, a), editDistance(text, b)) })
	return names[:min(len(names), suggestions)]
}

// quoted lists names as alternatives.
func quoted(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%q", name))
	}
	return strings.Join(list, " or ")
}

// suggestNames adds to an error about names of nodes and topics what was perhaps meant by those that there are not. Of
// a path each name is looked at.
func suggestNames(err error, a *system.Architecture, texts ...string) error {
	if !errors.Is(err, system.ErrNoSuchName) {
		return err
	}
	names := a.Names()
	for _, text := range texts {
		for name := range strings.SplitSeq(strings.Trim(text, "[] "), "]-[") {
			if slices.Contains(names, name) {
				continue
			}
			if similar := similarNames(name, names); len(similar) > 0 {
				err = fmt.Errorf("%w; by %q, did you mean %s?", err, name, quoted(similar))
			}
		}
	}
	return err
}
