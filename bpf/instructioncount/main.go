// Command instructioncount lists how many instructions each BPF program of compiled objects has, with the functions
// that it calls.
//
// usage: instructioncount OBJECT...
//
// What a hit costs grows with them, so the list is committed: who changes a program sees in it what the change costs.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cilium/ebpf"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: instructioncount OBJECT...")
		os.Exit(2)
	}
	if err := list(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "instructioncount:", err)
		os.Exit(1)
	}
}

// list writes a line for each program, with a column for each object.
func list(out io.Writer, objects []string) error {
	counts := make(map[string][]int)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "program")
	for i, object := range objects {
		spec, err := ebpf.LoadCollectionSpec(object)
		if err != nil {
			return fmt.Errorf("reading %s: %w", object, err)
		}
		for name, program := range spec.Programs {
			if counts[name] == nil {
				counts[name] = make([]int, len(objects))
			}
			counts[name][i] = len(program.Instructions)
		}
		fmt.Fprintf(w, "\t%s", architecture(object))
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprint(w, name)
		for _, count := range counts[name] {
			fmt.Fprintf(w, "\t%d", count)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// architecture is the part of an object's name that names it: caret_x86_bpfel.o.
func architecture(object string) string {
	parts := strings.Split(filepath.Base(object), "_")
	return parts[len(parts)/2]
}
