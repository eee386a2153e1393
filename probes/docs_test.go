package probes

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/elffile"
	"github.com/caret-bpf/caret-bpf/layouts"
	"github.com/caret-bpf/caret-bpf/target"
)

var update = flag.Bool("update", false, "write docs/probes.md")

const documentation = "../docs/probes.md"

// TestDocumentation compares docs/probes.md with the catalogue. `go test ./probes -run TestDocumentation -update` writes it.
func TestDocumentation(t *testing.T) {
	want := document()
	if *update {
		if err := os.WriteFile(documentation, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not fit the catalogue; run `go test ./probes -run TestDocumentation -update`", documentation)
	}
}

const introduction = `<!-- Written from the catalogue in probes/catalogue.go by "go test ./probes -run TestDocumentation -update". -->

# Probes

caret-bpf attaches uprobes to functions that stock ROS 2 libraries export. This page says, for every event, where it is observed
in each distribution, and what is missing where it cannot be. ` + "`caret-bpf probes -p PID`" + ` prints the same for a running process.

Rolling is treated like the newest distribution. In a process whose distribution cannot be told from its libraries, only events
that are observed in the same place in all distributions are recorded.

**Provenance.** *tracepoint*: the function ` + "`ros_trace_EVENT`" + ` of libtracetools, which rclcpp, rcl and the rmw
implementations call whether or not LTTng is compiled in. *symbol*: another exported function, whose arguments hold the event's fields.

**Sites.** A uprobe replaces one instruction. The kernel executes some kinds itself (%s) and steps through a copy of any other
(%s), several times slower. The site is the first instruction that the kernel emulates (a ` + "`push`, call or jump" + `) in the
straight code at a function's start, as long as the arguments are still in their registers and no branch leads there; else the function's first
instruction; or the ` + "`call`" + ` that the tables name. Never used: instructions that are not proven to begin where they seem to,
nops of several bytes (newer kernels replace them by a call that overwrites the stack of a leaf function), functions whose code the
linker shares between several names, and calls in a process with a shadow stack.

**Callers.** The bodies of Humble's tracepoints are empty: nothing in them is emulated. When processes are recorded by PID (x86-64), the
relative calls and jumps that lead to them are probed instead, in the executable and in every library, those included that are
expected to be loaded. The bodies are probed as well in the seconds after a process has mapped something, and all the time if it may call them
in other ways (through pointers, or in code that cannot be decoded); a call that is seen twice is recorded once. Initialization events
always keep to the bodies. A library that nobody expected and that is loaded later is noticed within about a second; what it did before is not
recorded, and the recorder says so. ` + "`record --sites`" + ` forces one way.

**RMW implementations.** No site lies in an rmw library: librmw_implementation only forwards to another, and what the
others do shows in libtracetools and in the DDS library. While a process has not mapped its RMW implementation, every DDS library
that it may map is armed in advance.

**End of a publish.** The record of a publish is closed at its last layer: %s from Jazzy on; on Humble and Iron
%s, or where that is missing the last layer before it that is observed. A publish that does not reach it ends
with the next event of its thread.

`

// document renders the catalogue as Markdown.
func document() []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, introduction, elffile.ClassEmulated, elffile.ClassSingleStepped, EventRMWPublish, EventDDSBindAddrToStamp)
	page.WriteString("## Overview\n\n| event |")
	for _, distro := range layouts.Distros() {
		fmt.Fprintf(&page, " %s |", distro)
	}
	page.WriteString("\n|---|" + strings.Repeat("---|", len(layouts.Distros())) + "\n")
	for _, entry := range Catalogue() {
		fmt.Fprintf(&page, "| [%s](#%s) |", entry.Name, entry.Name)
		for _, distro := range layouts.Distros() {
			fmt.Fprintf(&page, " %s |", summary(entry, target.Distro(distro)))
		}
		page.WriteString("\n")
	}
	page.WriteString("\nrmw_publish is CARET's dds_write. exception_caught and executor_execute are no events of CARET. The first tells which callbacks an\n" +
		"exception has left; the second does so where the first is not probed, or later than the others, and keeps a take from being counted for a\n" +
		"callback that it did not feed. On Humble it also tells what was taken from intra-process buffers.\n\n## Events\n")
	for _, entry := range Catalogue() {
		documentEntry(&page, entry)
	}
	fmt.Fprintf(&page, "\n## Fast DDS\n\nset_fragments receives a CacheChange_t whose sourceTimestamp lies at an offset that depends on the "+
		"version in the library's soname.\nOther versions than these are reported as missing.\n\n| soname | offset |\n|---|---|\n")
	for _, soname := range knownFastDDS() {
		fmt.Fprintf(&page, "| %s | %d |\n", soname, cacheChangeTimestamps[soname])
	}
	return page.Bytes()
}

// summary says in a word or two where an event is observed.
func summary(entry Entry, distro target.Distro) string {
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

func documentEntry(page *bytes.Buffer, entry Entry) {
	fmt.Fprintf(page, "\n### %s\n\nArguments: %s.\n", entry.Name, cmp.Or(strings.Join(entry.Arguments, ", "), "none"))
	if entry.Required {
		fmt.Fprintf(page, "**Required:** without it %s, and there is no recording.\n", entry.Consequence)
	} else {
		fmt.Fprintf(page, "Without it: %s.\n", entry.Consequence)
	}
	page.WriteString("\n| distributions | library | function | form | provenance | what a probe finds |\n|---|---|---|---|---|---|\n")
	for _, source := range entry.Sources {
		distros := strings.Join(source.Distros, ", ")
		if source.CarriedBy != 0 {
			fmt.Fprintf(page, "| %s | | | | in %s | %s |\n", distros, source.CarriedBy, source.Shows)
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
		fmt.Fprintf(page, "| %s | %s | %s | %d | %s | %s |\n", distros, library, function, source.Form, source.Provenance, source.Shows)
	}
	for _, absence := range entry.Absences {
		fmt.Fprintf(page, "\nMissing on %s: %s.\n", strings.Join(absence.Distros, ", "), absence.Reason)
	}
}
