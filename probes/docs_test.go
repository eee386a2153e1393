package probes

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/docs"
)

// TestDocumentation compares what docs/probes.md says of the catalogue with the catalogue. `make docs` writes it.
func TestDocumentation(t *testing.T) {
	for _, block := range []struct {
		name    string
		content []byte
	}{
		{"overview", overview()}, {"events", eventSections()}, {"offsets-of-timestamps", timestampOffsets()},
	} {
		if err := docs.Check("../docs/probes.md", block.name, block.content); err != nil {
			t.Error(err)
		}
	}
}

// overview is the table of all events and where each distribution shows them.
func overview() []byte {
	var table bytes.Buffer
	table.WriteString("| event |")
	for _, distro := range distros.Released() {
		fmt.Fprintf(&table, " %s |", distro)
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(distros.Released())) + "\n")
	for _, entry := range Catalogue() {
		fmt.Fprintf(&table, "| [%s](#%s) |", entry.Name, entry.Name)
		for _, distro := range distros.Released() {
			fmt.Fprintf(&table, " %s |", summary(entry, distro))
		}
		table.WriteString("\n")
	}
	return table.Bytes()
}

// summary says in a word or two where an event is observed.
func summary(entry Entry, distro distros.Distro) string {
	sources := entry.sources(distro)
	switch {
	case len(sources) == 0:
		return "–"
	case sources[0].CarriedBy != 0:
		return "in " + sources[0].CarriedBy.String()
	case sources[0].RMW != "":
		return "DDS library"
	}
	return string(sources[0].Provenance)
}

func eventSections() []byte {
	var sections bytes.Buffer
	for _, entry := range Catalogue() {
		documentEntry(&sections, entry)
	}
	return sections.Bytes()
}

func joined(of []distros.Distro) string {
	names := make([]string, len(of))
	for i, distro := range of {
		names[i] = string(distro)
	}
	return strings.Join(names, ", ")
}

func documentEntry(page *bytes.Buffer, entry Entry) {
	arguments := cmp.Or(strings.Join(entry.Arguments, ", "), "none")
	consequence := fmt.Sprintf("Without it: %s.", entry.Consequence)
	if entry.Required {
		consequence = fmt.Sprintf("**Required:** without it %s, and there is no recording.", entry.Consequence)
	}
	if entry.OnlyFull {
		consequence += " Only `record --profile full` observes it."
	}
	fmt.Fprintf(page, "\n### %s\n\nArguments: %s.\n%s\n", entry.Name, arguments, docs.Wrap(consequence, ""))
	page.WriteString("\n| distributions | library | function | form | provenance | what a probe finds |\n|---|---|---|---|---|---|\n")
	for _, source := range entry.Sources {
		of := joined(source.Distros)
		if source.CarriedBy != 0 {
			fmt.Fprintf(page, "| %s | | | | in %s | %s |\n", of, source.CarriedBy, source.Shows)
			continue
		}
		library, function := source.Library.String(), "`"+source.Symbol+"`"
		if source.RMW != "" {
			library += " (" + source.RMW + "\\*)"
		}
		if source.Prefix {
			function = "`" + source.Symbol + "…`"
		}
		if source.AfterCallOf != "" {
			function = fmt.Sprintf("the call after that of `%s` in %s", source.AfterCallOf, function)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %d | %s | %s |\n", of, library, function, source.Form, source.Provenance, source.Shows)
	}
	for _, absence := range entry.Absences {
		fmt.Fprintf(page, "\n%s\n", docs.Wrap(fmt.Sprintf("Missing on %s: %s.", joined(absence.Distros), absence.Reason), ""))
	}
}

// timestampOffsets is the table of where a CacheChange_t of Fast DDS has its source timestamp.
func timestampOffsets() []byte {
	var table bytes.Buffer
	table.WriteString("| soname | offset |\n|---|---|\n")
	for _, soname := range knownFastDDS() {
		fmt.Fprintf(&table, "| %s | %d |\n", soname, cacheChangeTimestamps[soname])
	}
	return table.Bytes()
}
