package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const page = "../../docs/latency.md"

// TestThePageSaysWhatTheTableMeans holds that each reason is explained once, and that the committed table counts each
// row and leaves none without a reason.
func TestThePageSaysWhatTheTableMeans(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	names := map[string]bool{}
	for _, r := range reasons() {
		names[string(r.name)] = true
	}
	for name := range names {
		if n := strings.Count(text, "\n| "+name+" | "); n != 1 {
			t.Errorf("the page explains %q %d times", name, n)
		}
	}
	_, table, _ := strings.Cut(text, "<!-- begin: generated "+block+" -->\n")
	table, _, _ = strings.Cut(table, "<!-- end: generated "+block+" -->\n")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) < 3 {
		t.Fatal("the page has no table")
	}
	for _, line := range lines[2:] {
		cells := strings.Split(line, " | ")
		if len(cells) != 8 {
			t.Fatalf("%d cells: %s", len(cells), line)
		}
		number := func(text string) int {
			n, err := strconv.Atoi(strings.Trim(text, " |"))
			if err != nil {
				t.Errorf("%v: %s", err, line)
			}
			return n
		}
		differing := 0
		for _, match := range regexp.MustCompile(`([a-z -]+) (\d+)`).FindAllStringSubmatch(cells[6], -1) {
			if !names[strings.TrimSpace(match[1])] {
				t.Errorf("there is no reason %q", match[1])
			}
			differing += number(match[2])
		}
		if number(cells[3])+number(cells[4]) != 2*number(cells[5])+differing || number(cells[7]) != 0 || number(cells[5]) == 0 {
			t.Errorf("not every row is equal or differs by a reason: %s", line)
		}
	}
}

// TestAgreementWithCaretAnalyze records stand-ins and compares the answers, where caret_analyze is installed.
func TestAgreementWithCaretAnalyze(t *testing.T) {
	checkout, python := os.Getenv("CARET_ANALYZE"), os.Getenv("CARET_ANALYZE_PYTHON")
	if checkout == "" || python == "" {
		t.Skip("there is no caret_analyze: CARET_ANALYZE and CARET_ANALYZE_PYTHON do not name its checkout and its Python")
	}
	if os.Geteuid() != 0 {
		t.Skip("recording stand-ins needs root")
	}
	if output, err := exec.Command("../../scripts/compare-caret.sh", "-c", checkout, "-p", python).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}
