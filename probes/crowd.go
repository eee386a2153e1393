package probes

import (
	"fmt"
	"maps"
	"slices"

	"github.com/caret-bpf/caret-bpf/distros"
)

// maxAlike bounds the files in one process that are taken for one library. Each costs as many probes as the library has
// events, and time to attach them. A process has one, or a few by linker namespaces or overlays; only one that means
// harm has thousands.
const maxAlike = 8

// crowd counts the files that are taken for each library.
type crowd map[Library]int

// admit reports whether a file is looked at: not if it is one of too many.
func (c crowd) admit(f file) bool {
	admitted := true
	for library := range libraryNames {
		if _, ok := library.version(f.soname); ok {
			c[library]++
			admitted = admitted && c[library] <= maxAlike
		}
	}
	return admitted
}

// missing says what is not observed because of the files that were left out.
func (c crowd) missing(distro distros.Distro) []Missing {
	var missing []Missing
	for _, library := range slices.Sorted(maps.Keys(c)) {
		if c[library] <= maxAlike {
			continue
		}
		for _, entry := range catalogue {
			if slices.ContainsFunc(entry.sources(distro), func(source Source) bool { return source.Library == library }) {
				missing = append(missing, Missing{
					Event: entry.Event, Partial: true, Consequence: "what happens in the others is not recorded",
					Reason: fmt.Sprintf("the process maps %d files as %s, of which %d are probed", c[library], library, maxAlike),
				})
			}
		}
	}
	return missing
}
