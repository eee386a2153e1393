package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/caret-bpf/caret-bpf/distros"
	"github.com/caret-bpf/caret-bpf/docs"
	"github.com/caret-bpf/caret-bpf/probes"
	"github.com/caret-bpf/caret-bpf/trace"
)

func isOfAction(name string) bool { return strings.Contains(name, "/_action/") }

// environment is a column of the page.
type environment struct{ distro, rmw string }

func (e environment) String() string { return e.distro + ", " + e.rmw }

// finding is what the recordings of an environment say of an event.
type finding struct {
	counts      [2]int // recorded from the start of the programs, and attached late
	provenances [2][]string
	nulls       map[string]int // by field
}

type findings struct {
	environments []environment
	of           map[environment]map[string]*finding
}

func evaluate(recordings []*recording) findings {
	f := findings{of: map[environment]map[string]*finding{}}
	for _, r := range recordings {
		e := environment{r.distro, r.rmw}
		if f.of[e] == nil {
			f.of[e] = map[string]*finding{}
			f.environments = append(f.environments, e)
		}
		r.joinExecutors()
		for _, section := range sections {
			for _, event := range section.events {
				known := f.of[e][event.name]
				if known == nil {
					known = &finding{nulls: map[string]int{}}
					f.of[e][event.name] = known
				}
				known.add(event, r)
			}
		}
	}
	slices.SortFunc(f.environments, func(a, b environment) int { return cmp.Or(cmp.Compare(a.distro, b.distro), -cmp.Compare(a.rmw, b.rmw)) })
	return f
}

// joinExecutors adds to the rows of callback groups what their executors are.
func (r *recording) joinExecutors() {
	executors := map[string]record{}
	for _, row := range r.tables[trace.TableExecutor] {
		executors[fmt.Sprint(row["pid"], row["executor"])] = row
	}
	for _, row := range r.tables[trace.TableCallbackGroup] {
		for _, column := range []string{"executor_type", "entities_collector"} {
			if value := executors[fmt.Sprint(row["pid"], row["executor"])][column]; value != nil {
				row["executor."+column] = value
			}
		}
	}
}

func (f *finding) add(event event, r *recording) {
	when := 0
	if r.late {
		when = 1
	}
	if !event.isIn(distros.Distro(r.distro)) {
		return
	}
	for _, table := range event.tables {
		for _, row := range r.tables[table] {
			if event.holds != nil && !event.holds(row) {
				continue
			}
			f.counts[when]++
			if provenance := event.provenance(table, row, r.distro); !slices.Contains(f.provenances[when], provenance) {
				f.provenances[when] = append(f.provenances[when], provenance)
			}
			for _, field := range event.fields {
				if !row.has(field.column) {
					f.nulls[field.name]++
				}
			}
		}
	}
}

// provenance returns that of a row: the row's own, or that of the event's site in a distribution where a row has
// several events.
func (e event) provenance(table string, row record, distro string) string {
	if e.derived {
		return string(trace.Derived)
	}
	if table != trace.TableCallback && table != trace.TablePublish && row.has("provenance") {
		return row.text("provenance")
	}
	name := cmp.Or(e.shownBy, e.name)
	for _, entry := range probes.Catalogue() {
		if entry.Name != name {
			continue
		}
		for _, source := range entry.Sources {
			switch {
			case !slices.Contains(source.Distros, distros.Distro(distro)):
			case source.CarriedBy != 0 && source.Provenance == "":
				return string(trace.Derived)
			default:
				return string(source.Provenance)
			}
		}
	}
	return string(trace.Derived)
}

// isIn tells whether a distribution has the event.
func (e event) isIn(distro distros.Distro) bool {
	if e.instead == "" {
		return true
	}
	name := cmp.Or(e.alongside, e.name)
	return slices.ContainsFunc(probes.Catalogue(), func(entry probes.Entry) bool {
		return entry.Name == name && slices.ContainsFunc(entry.Sources, func(source probes.Source) bool {
			return slices.Contains(source.Distros, distro)
		})
	})
}

// distros returns the names of the distributions that have the event, oldest first.
func (e event) distros() (names []string) {
	for _, distro := range distros.Released() {
		if e.isIn(distro) {
			names = append(names, string(distro))
		}
	}
	return names
}

// markdown returns the generated part of the page.
func (f findings) markdown() []byte {
	var text bytes.Buffer
	for _, section := range sections {
		fmt.Fprintf(&text, "\n## %s\n\n| event | fields |", section.title)
		for _, e := range f.environments {
			fmt.Fprintf(&text, " %s |", e)
		}
		fmt.Fprintf(&text, "\n|---|---|%s\n", strings.Repeat("---|", len(f.environments)))
		for _, event := range section.events {
			fmt.Fprintf(&text, "| %s | %s |", event.title(), event.fieldNames())
			for _, e := range f.environments {
				fmt.Fprintf(&text, " %s |", f.of[e][event.name].cell(event, e.distro))
			}
			text.WriteByte('\n')
		}
		f.writeNotes(&text, section)
	}
	return text.Bytes()
}

func (e event) title() string {
	if strings.Contains(e.name, " ") {
		return e.name
	}
	return "`" + e.name + "`"
}

func (e event) fieldNames() string {
	var names []string
	for _, field := range e.fields {
		names = append(names, field.name)
	}
	return strings.Join(names, ", ")
}

func (f *finding) cell(event event, distro string) string {
	if event.tables == nil || !event.isIn(distros.Distro(distro)) {
		return "–"
	}
	var parts []string
	for when, count := range f.counts {
		slices.Sort(f.provenances[when])
		parts = append(parts, strings.TrimSpace(fmt.Sprint(count, " ", strings.Join(f.provenances[when], ", "))))
	}
	cell := strings.Join(parts, " / ")
	var nulls []string
	for _, field := range event.fields {
		if count := f.nulls[field.name]; count > 0 {
			nulls = append(nulls, fmt.Sprintf("%s %s", field.name, share(count, f.counts[0]+f.counts[1])))
		}
	}
	if len(nulls) > 0 {
		cell += "; null: " + strings.Join(nulls, ", ")
	}
	return cell
}

// share says how many of all something is.
func share(count, all int) string {
	if count == all {
		return "(always)"
	}
	return fmt.Sprintf("(%d)", count)
}

func (f findings) writeNotes(text *bytes.Buffer, section section) {
	var notes []string
	for _, event := range section.events {
		if event.note != "" {
			notes = append(notes, fmt.Sprintf("- %s: %s", event.title(), event.note))
		}
		if event.instead != "" {
			notes = append(notes, fmt.Sprintf("- %s: only in %s; in others %s.", event.title(), strings.Join(event.distros(), ", "), event.instead))
		}
		for _, field := range event.fields {
			if f.nulls(event, field) > 0 && field.null != "" {
				notes = append(notes, fmt.Sprintf("- %s, `%s` is null: %s.", event.title(), field.name, field.null))
			}
		}
	}
	if len(notes) > 0 {
		for i := range notes {
			notes[i] = docs.Wrap(notes[i], "  ")
		}
		fmt.Fprintf(text, "\n%s\n", strings.Join(notes, "\n"))
	}
}

// nulls counts the nulls of a field in all environments.
func (f findings) nulls(event event, field field) int {
	sum := 0
	for _, e := range f.environments {
		sum += f.of[e][event.name].nulls[field.name]
	}
	return sum
}

// unexplained returns an error if fields are null for which there is no reason, or if an event was never recorded that
// should have been.
func (f findings) unexplained() error {
	var problems []error
	for _, section := range sections {
		for _, event := range section.events {
			for _, field := range event.fields {
				if count := f.nulls(event, field); count > 0 && field.null == "" {
					problems = append(problems, fmt.Errorf("%s of %s is null %d times, and there is no reason", field.name, event.name, count))
				}
			}
		}
	}
	return errors.Join(problems...)
}
