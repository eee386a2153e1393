package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/caret-bpf/caret-bpf/report"
)

// printDot writes a drawing for Graphviz.
func printDot(w io.Writer, d *drawing) {
	fmt.Fprintln(w, "digraph ros {")
	fmt.Fprintln(w, "  rankdir=LR;")
	for i, p := range d.processes {
		fmt.Fprintf(w, "  subgraph \"cluster_%d\" {\n    label=%s;\n", i, quoteDot(p.name))
		for _, n := range p.nodes {
			fmt.Fprintf(w, "    %s [label=%s];\n", quoteDot(n.id), quoteDot(n.name))
		}
		fmt.Fprintln(w, "  }")
	}
	for _, topic := range d.names(false) {
		fmt.Fprintf(w, "  %s [shape=box, label=%s];\n", quoteDot("topic "+topic), quoteDot(topic))
	}
	for _, service := range d.names(true) {
		fmt.Fprintf(w, "  %s [shape=diamond, label=%s];\n", quoteDot("service "+service), quoteDot(service))
	}
	for _, e := range d.edges {
		from, to, style := quoteDot(e.node), quoteDot("topic "+e.name), ""
		if e.ofServices {
			to, style = quoteDot("service "+e.name), " [style=dashed]"
		}
		if e.toNode {
			from, to = to, from
		}
		fmt.Fprintf(w, "  %s -> %s%s;\n", from, to, style)
	}
	if legend := d.legend(); legend != "" { // at the end, because subgraphs inherit what stands before them
		fmt.Fprintf(w, "  labelloc=b;\n  label=%s;\n", quoteDot(legend))
	}
	fmt.Fprintln(w, "}")
}

// quoteDot makes a quoted identifier of Graphviz.
func quoteDot(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(report.Printable(text)) + `"`
}
