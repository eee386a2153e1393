package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/docs"
)

func writeBlock(page string, table []byte) error { return docs.Write(page, block, table) }

// markdown writes the comparisons as a table.
func markdown(all []comparison) []byte {
	var b strings.Builder
	b.WriteString("| system | question | contexts | caret_analyze | caret-bpf | equal | differing, by reason | unexplained |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		var differing []string
		for _, name := range slices.Sorted(maps.Keys(c.explained)) {
			differing = append(differing, fmt.Sprintf("%s %d", name, c.explained[name]))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d | %s | %d |\n",
			c.system, c.question, orDash(c.context), c.caret, c.ours, c.equal, orDash(strings.Join(differing, ", ")), len(c.unexplained))
	}
	return []byte(b.String())
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
