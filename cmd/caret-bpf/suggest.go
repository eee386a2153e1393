package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// similarCommand returns the command of those that was most likely meant, "" if none is like the text.
func similarCommand(text string, of []command) string {
	var names []string
	for _, command := range of {
		names = append(names, command.name)
	}
	return similar(text, names)
}

// suggestFlag adds to the error of an unknown long flag which one was most likely meant.
func suggestFlag(err error, flags *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := similar(unknown.GetSpecifiedName(), names); meant != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, meant)
	}
	return err
}

// similar returns the name that was most likely meant, "" if none is like the text.
func similar(text string, names []string) string {
	const maxEdits = 2
	best, least := "", maxEdits+1
	for _, name := range names {
		edits := editDistance(text, name)
		if edits >= len(name) {
			continue // nothing of it is left
		}
		if len(text) > maxEdits && strings.HasPrefix(name, text) {
			edits = 0
		}
		if edits < least {
			best, least = name, edits
		}
	}
	return best
}

// editDistance is Levenshtein's: how many bytes must be put in, taken out or replaced to make one text the other.
func editDistance(a, b string) int {
	distances := make([]int, len(b)+1) // from what was read of a to each beginning of b
	for j := range distances {
		distances[j] = j
	}
	for i := range len(a) {
		diagonal := distances[0]
		distances[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = distances[j+1]
			distances[j+1] = min(replaced, distances[j]+1, diagonal+1)
		}
	}
	return distances[len(b)]
}
