package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results are what tests have done, by the names of those that are no part of another one.
type results struct {
	tests        map[string]*result
	began, ended time.Time
}

type result struct {
	trials, failures int
	took             time.Duration // of the longest part, where all go on beside each other
	skipped, isLong  bool
}

// merge adds what was read later, of tests that have not run before.
func (r *results) merge(later results) {
	for name, of := range later.tests {
		if former := r.tests[name]; former == nil || former.skipped {
			r.tests[name] = of
		}
	}
	if r.began.IsZero() || !later.began.IsZero() && later.began.Before(r.began) {
		r.began = later.began
	}
	if later.ended.After(r.ended) {
		r.ended = later.ended
	}
}

// event is a line that `go test -json` prints (go doc test2json).
type event struct {
	Time    time.Time
	Action  string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// parse reads what `go test -json` has printed, of long forms or of ordinary ones. A test without parts is a trial,
// unless it says how often it has tried. Lines that are no events are left out: make prints some.
func parse(output io.Reader, isLong bool) (results, error) {
	text, err := io.ReadAll(output)
	if err != nil {
		return results{}, err
	}
	r := results{tests: map[string]*result{}}
	parts := map[string]*part{}
	for line := range bytes.Lines(text) {
		var e event
		if json.Unmarshal(line, &e) != nil || e.Test == "" {
			continue
		}
		if r.began.IsZero() || e.Time.Before(r.began) {
			r.began = e.Time
		}
		if e.Time.After(r.ended) {
			r.ended = e.Time
		}
		p := parts[e.Test]
		if p == nil {
			p = new(part)
			parts[e.Test] = p
		}
		if e.Action == "output" {
			p.tried += triedIn(e.Output)
		}
		if slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			p.ended, p.took = e.Action, time.Duration(e.Elapsed*float64(time.Second))
		}
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 && parts[e.Test[:i]] != nil {
			parts[e.Test[:i]].isWhole = true
		}
	}
	for name, p := range parts {
		r.add(name, p)
	}
	for _, of := range r.tests {
		of.isLong = isLong
	}
	return r, nil
}

// part is a test, or a part of one.
type part struct {
	tried   int
	ended   string
	took    time.Duration
	isWhole bool // it has parts of its own
}

func (r *results) add(name string, p *part) {
	whole, _, isPart := strings.Cut(name, "/")
	of := r.tests[whole]
	if of == nil {
		of = new(result)
		r.tests[whole] = of
	}
	of.took = max(of.took, p.took)
	if !isPart {
		of.skipped = p.ended == "skip"
	}
	switch {
	case p.ended == "skip":
	case p.tried > 0:
		of.trials += p.tried
	case !p.isWhole:
		of.trials++
	}
	if !p.isWhole && p.ended != "pass" && p.ended != "skip" { // one that has not ended has failed
		of.failures++
	}
}

// tried is how tests say how often they have tried something.
var tried = regexp.MustCompile(`\btried: trials=(\d+)\b`)

func triedIn(output string) int {
	match := tried.FindStringSubmatch(output)
	if match == nil {
		return 0
	}
	count, _ := strconv.Atoi(match[1])
	return count
}

// named returns the tests that a page names, in their order, each once.
func named(page string) (names []string) {
	for _, match := range regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(page, -1) {
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

func table(names []string, tests map[string]*result) string {
	var t strings.Builder
	t.WriteString("| test | form | trials | failures | duration |\n|---|---|---|---|---|\n")
	var missing []string
	for _, name := range names {
		of := tests[name]
		if of == nil || of.skipped {
			missing = append(missing, "`"+name+"`")
			continue
		}
		form := "ordinary"
		if of.isLong {
			form = "long"
		}
		fmt.Fprintf(&t, "| `%s` | %s | %d | %d | %s |\n", name, form, of.trials, of.failures, of.took.Round(time.Second/10))
	}
	if len(missing) > 0 {
		fmt.Fprintf(&t, "| not run to their end then: %s | | | | |\n", strings.Join(missing, ", "))
	}
	return t.String()
}
