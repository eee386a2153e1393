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
	// suggestions bounds the names that are offered for one that there is not, comparedNames those that are looked at,
	// which are no longer than comparedLength. A dataset may name whatever its maker wants.
	suggestions    = 3
	comparedNames  = 10_000
	comparedLength = 256
)

// explain says what an expression or a PID does not fit, and what was perhaps meant. Rows may have names that no table
// of entities knows.
func explain(m analyze.Misfit) string {
	if m.Pattern == nil {
		return fmt.Sprintf("no known process has the PID %s", m.Text)
	}
	text := fmt.Sprintf("no known %s is called %q: an expression has to fit the whole name", m.Of, m.Text)
	if near := nearest(m); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", quoted(near))
	}
	return text
}

// nearest are the names that the expression fits in part or, if there are none, those that are most like it.
func nearest(m analyze.Misfit) []string {
	if parts := mostSimilar(m.Text, m.Names, func(name string, _ int) bool { return m.Pattern.MatchString(name) }); len(parts) > 0 {
		return parts
	}
	return similarNames(m.Text, m.Names)
}

// similarNames are those that a text may have been meant for.
func similarNames(text string, names []string) []string {
	const share = 3 // of a name: more edits make any name of any other
	return mostSimilar(text, names, func(name string, edits int) bool { return edits <= len(name)/share })
}

// mostSimilar are those of the names that are chosen which take the fewest edits to come from a text.
func mostSimilar(text string, names []string, choose func(name string, edits int) bool) []string {
	type candidate struct {
		name  string
		edits int
	}
	var found []candidate
	for _, name := range names[:min(len(names), comparedNames)] {
		if len(name) > comparedLength || len(text) > comparedLength {
			continue
		}
		if edits := editDistance(text, name); choose(name, edits) {
			found = append(found, candidate{name, edits})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	var similar []string
	for _, c := range found[:min(len(found), suggestions)] {
		similar = append(similar, c.name)
	}
	return similar
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
