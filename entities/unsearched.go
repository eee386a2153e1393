package entities

import (
	"fmt"
	"slices"
	"strings"
)

// Reasons for which memory is left out.
const (
	skippedGone       = "it left RAM meanwhile"
	skippedUnreadable = "it could not be read"
)

// maxParts bounds the parts that Unsearched names.
const maxParts = 3

// Unsearched says in words what the scan left out: for each reason how much and where, and how much was searched.
func (s *Snapshot) Unsearched() []string {
	var reasons []string
	for _, skipped := range s.Skipped {
		if !slices.Contains(reasons, skipped.Reason) {
			reasons = append(reasons, skipped.Reason)
		}
	}
	var lines []string
	for _, reason := range reasons {
		size, parts := uint64(0), []string{}
		for _, skipped := range s.Skipped {
			if skipped.Reason == reason && skipped.End > skipped.Start {
				size += skipped.End - skipped.Start
				parts = append(parts, fmt.Sprintf("%#x-%#x", skipped.Start, skipped.End))
			}
		}
		what := "some of it, nobody knows where,"
		if len(parts) > 0 {
			count := len(parts)
			if count > maxParts {
				parts = append(parts[:maxParts], "…")
			}
			what = fmt.Sprintf("%s in %d %s (%s)", memorySize(size), count, plural(count, "part"), strings.Join(parts, ", "))
		}
		lines = append(lines, fmt.Sprintf("%s was not searched for entities: %s; %s was searched", what, reason, memorySize(s.Scanned)))
	}
	return lines
}

func plural(count int, noun string) string {
	if count == 1 {
		return noun
	}
	return noun + "s"
}

// memorySize writes a number of bytes with the unit that fits it.
func memorySize(bytes uint64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}
