// Package alike takes together what differs only in the process that it is about: thirty processes give reason for one
// warning thirty times.
package alike

import (
	"fmt"
	"regexp"
	"strconv"
)

var (
	// process is how texts name a process: its PID, and perhaps its name, in which there may be anything. The kernel cuts
	// names to 15 bytes.
	process = regexp.MustCompile(`(?s)\bPID [0-9]+(?: \(.{0,15}\))?`)
	// folders are those of an absolute path. Processes have one file in different places.
	folders = regexp.MustCompile(`(^|[\s("'])/(?:[^\s/:]+/)+`)
	// number is a PID, an address, a size, a time.
	number = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)
	// counted is what And adds.
	counted = regexp.MustCompile(` \(and ([1-9][0-9]{0,17}) more of this kind\)$`)
)

// Kind is what a text has in common with others that differ from it only in the process, in the folder of a file with
// the same name, or in other numbers.
func Kind(text string) string {
	text = process.ReplaceAllLiteralString(text, "PID")
	text = folders.ReplaceAllString(text, "$1")
	return number.ReplaceAllLiteralString(text, "#")
}

// And adds to a text how many more there are of its kind, if there are any.
func And(text string, more uint64) string {
	if more == 0 {
		return text
	}
	return fmt.Sprintf("%s (and %d more of this kind)", text, more)
}

// split undoes And.
func split(text string) (single string, more uint64) {
	match := counted.FindStringSubmatchIndex(text)
	if match == nil {
		return text, 0
	}
	more, err := strconv.ParseUint(text[match[2]:match[3]], 10, 64)
	if err != nil {
		return text, 0
	}
	return text[:match[0]], more
}

// Group returns of each kind the first text, with the number of the others, in the order in which they first came. What
// And has added to a text counts.
func Group(texts []string) []string {
	type group struct {
		first string
		more  uint64
	}
	var groups []*group
	kinds := map[string]*group{}
	for _, text := range texts {
		single, more := split(text)
		kind := Kind(single)
		if known := kinds[kind]; known != nil {
			known.more += 1 + more
			continue
		}
		kinds[kind] = &group{single, more}
		groups = append(groups, kinds[kind])
	}
	var grouped []string
	for _, g := range groups {
		grouped = append(grouped, And(g.first, g.more))
	}
	return grouped
}
