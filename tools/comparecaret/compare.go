package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxDetails bounds the differences of a comparison that are shown one by one.
const maxDetails = 6

// comparison is what both tools answered to one question about one system.
type comparison struct {
	system, question string
	// context is the way in which contexts are known; empty if the answer does not depend on it.
	context     string
	caret, ours int
	equal       int
	// explained is the number of rows of either tool that differ for each reason.
	explained   map[reason]int
	unexplained []difference
}

// difference is a row that only one of the tools has.
type difference struct {
	row
	onlyCaret bool
}

// compareSystem compares the answers to all questions about one system.
func compareSystem(directory string) ([]comparison, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	var all []comparison
	asked := map[string]bool{}
	lives, err := readLives(filepath.Join(directory, "subscription.csv"))
	if err != nil {
		return nil, err
	}
	madeIn, err := readMadeIn(filepath.Join(directory, "publish.csv"))
	if err != nil {
		return nil, err
	}
	known := evidence{lives: lives, madeIn: madeIn}
	for _, entry := range entries {
		folder := filepath.Join(directory, entry.Name())
		if _, err := os.Stat(filepath.Join(folder, "caret")); err != nil {
			continue // the trace, or a file
		}
		if known.inFile, err = readInFile(filepath.Join(folder, "caret", "known.csv")); err != nil {
			return nil, err
		}
		if known.endless, err = readEndless(filepath.Join(folder, "ours", "callback.csv")); err != nil {
			return nil, err
		}
		known.passesVariables = entry.Name() == variablePassing
		for _, q := range questions() {
			if asked[q.name] && !q.dependsOnContext {
				continue
			}
			if _, err := os.Stat(filepath.Join(folder, "ours", q.file)); err != nil {
				continue // a system without paths
			}
			asked[q.name] = true
			caret, ours, err := q.read(folder)
			if err != nil {
				return nil, err
			}
			known.add(q, caret, ours)
			c := compare(q, caret, ours, &known)
			c.system = filepath.Base(directory)
			if q.dependsOnContext {
				c.context = entry.Name()
			}
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no answers in %s", directory)
	}
	return all, nil
}

// compare compares the rows of both tools, and finds the reason of each difference.
func compare(q question, caret, ours []row, e *evidence) comparison {
	c := comparison{question: q.name, caret: len(caret), ours: len(ours), explained: map[reason]int{}}
	var onlyCaret, onlyOurs []row
	c.equal, onlyCaret, onlyOurs = subtract(caret, ours)
	for _, r := range onlyCaret {
		c.explain(q, e, difference{row: r, onlyCaret: true})
	}
	for _, r := range onlyOurs {
		c.explain(q, e, difference{row: r})
	}
	return c
}

func (c *comparison) explain(q question, e *evidence, d difference) {
	for _, r := range reasons() {
		if r.explains(q, e, d) {
			c.explained[r.name]++
			return
		}
	}
	c.unexplained = append(c.unexplained, d)
}

// printUnexplained shows some of the differences that have no known reason.
func (c *comparison) printUnexplained(output io.Writer) {
	for i, d := range c.unexplained {
		if i == maxDetails {
			fmt.Fprintf(output, "… and %d more\n", len(c.unexplained)-i)
			return
		}
		who := "caret-bpf"
		if d.onlyCaret {
			who = "caret_analyze"
		}
		fmt.Fprintf(output, "%s %s %s: only %s: %s begin %s, %s, end %s\n", c.system, c.question, c.context, who, d.of, d.begin, d.rest, d.end)
	}
}
