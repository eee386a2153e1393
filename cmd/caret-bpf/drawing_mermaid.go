package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/caret-bpf/caret-bpf/report"
)

// printMermaid writes a drawing as a flowchart of Mermaid, which Markdown viewers show.
func printMermaid(w io.Writer, d *drawing) {
	ids := make(map[string]string)
	id := func(prefix, of string) string {
		key := prefix + of
		if ids[key] == "" {
			ids[key] = fmt.Sprintf("%s%d", prefix, len(ids))
		}
		return ids[key]
	}
	fmt.Fprintln(w, "flowchart LR")
	for i, p := range d.processes {
		fmt.Fprintf(w, "  subgraph p%d[%s]\n", i, quoteMermaid(p.name))
		for _, n := range p.nodes {
			fmt.Fprintf(w, "    %s([%s])\n", id("n", n.id), quoteMermaid(n.name))
		}
		fmt.Fprintln(w, "  end")
	}
	for _, topic := range d.names(false) {
		fmt.Fprintf(w, "  %s[%s]\n", id("t", topic), quoteMermaid(topic))
	}
	for _, service := range d.names(true) {
		fmt.Fprintf(w, "  %s{{%s}}\n", id("s", service), quoteMermaid(service))
	}
	for _, e := range d.edges {
		from, to, arrow := id("n", e.node), id("t", e.name), "-->"
		if e.ofServices {
			to, arrow = id("s", e.name), "-.->"
		}
		if e.toNode {
			from, to = to, from
		}
		fmt.Fprintf(w, "  %s %s %s\n", from, arrow, to)
	}
	if legend := d.legend(); legend != "" {
		fmt.Fprintf(w, "  legend[%s]\n  style legend fill:none,stroke:none\n", quoteMermaid(legend))
	}
}

// quoteMermaid makes a quoted label of Mermaid, which knows entities in place of escapes.
func quoteMermaid(text string) string {
	return `"` + strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;").Replace(report.Printable(text)) + `"`
}
