package docs_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/caret-bpf/caret-bpf/docs"
)

const (
	root = ".."
	// readmeWords is what a stranger reads in a few minutes.
	readmeWords = 900
)

// pages returns the files of prose, relative to the root of the repository.
func pages(t *testing.T) []string {
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%d pages, %v", len(found), err)
	}
	for _, page := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "testdata/README.md", "test/programs/README.md", "test/caret/README.md"} {
		found = append(found, filepath.Join(root, page))
	}
	return found
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLinesAreShort(t *testing.T) {
	for _, page := range pages(t) {
		for _, line := range longLines(read(t, page)) {
			t.Errorf("%s:%d has more than %d characters", page, line, docs.Width)
		}
	}
}

// longLines returns the numbers of lines that are too long. Rows of tables and lines of one word cannot be wrapped.
func longLines(text string) []int {
	var numbers []int
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "|") || !strings.Contains(strings.TrimSpace(line), " ") {
			continue
		}
		if utf8.RuneCountInString(line) > docs.Width {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func TestLongLinesAreSeen(t *testing.T) {
	long := strings.Repeat("word ", 20) + "end"
	text := strings.Join([]string{"short", long, "| " + long + " |", strings.ReplaceAll(long, " ", "-"), "- " + long}, "\n")
	if got := longLines(text); !slices.Equal(got, []int{2, 5}) {
		t.Errorf("lines %v", got)
	}
}

func TestReadmeIsShort(t *testing.T) {
	if words := countWords(read(t, filepath.Join(root, "README.md"))); words > readmeWords {
		t.Errorf("README.md has %d words, at most %d are wanted", words, readmeWords)
	}
}

// countWords counts what has a letter or a digit in it: no bars of tables, no frames.
func countWords(text string) int {
	word := regexp.MustCompile(`[\p{L}\p{N}]`)
	return len(slices.DeleteFunc(strings.Fields(text), func(field string) bool { return !word.MatchString(field) }))
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, link := range links(read(t, page)) {
			file, anchor, _ := strings.Cut(link, "#")
			if file == "" {
				file = page
			} else {
				file = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, link)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s links to %s, where there is no such heading", page, link)
			}
		}
	}
}

// links returns where the links of a page lead, but for those to other sites.
func links(text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(match[1], "://") {
			found = append(found, match[1])
		}
	}
	return found
}

// anchors returns the names that Markdown gives to the headings of a page.
func anchors(text string) []string {
	var found []string
	dropped := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, strings.ReplaceAll(name, " ", "-"))
	}
	return found
}

func TestLinksAndAnchorsAreSeen(t *testing.T) {
	if got := links("[a](b.md#c-d) and [e](https://example.org/) and [f](../g)"); !slices.Equal(got, []string{"b.md#c-d", "../g"}) {
		t.Errorf("links %v", got)
	}
	if got := anchors("# One `two`: three\n## a_b\ntext # no\n"); !slices.Equal(got, []string{"one-two-three", "a_b"}) {
		t.Errorf("anchors %v", got)
	}
}

func TestOneBlockIsReplaced(t *testing.T) {
	page := "before\n<!-- begin: generated a -->\nold\n<!-- end: generated a -->\nbetween\n" +
		"<!-- begin: generated b -->\n<!-- end: generated b -->\nafter\n"
	got, err := docs.Replace([]byte(page), "a", []byte("new\n"))
	if want := strings.Replace(page, "old", "new", 1); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := docs.Replace([]byte(page), "c", nil); !errors.Is(err, docs.ErrNoBlock) {
		t.Errorf("a block that is not there: %v", err)
	}
}

func TestOutdatedBlocksAreSeenAndWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("<!-- begin: generated a -->\nold\n<!-- end: generated a -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(docs.WriteVariable, "")
	if err := docs.Check(file, "a", []byte("new\n")); !errors.Is(err, docs.ErrOutdated) {
		t.Errorf("an outdated block: %v", err)
	}
	t.Setenv(docs.WriteVariable, "1")
	if err := docs.Check(file, "a", []byte("new\n")); err != nil {
		t.Errorf("writing: %v", err)
	}
	t.Setenv(docs.WriteVariable, "")
	if err := docs.Check(file, "a", []byte("new\n")); err != nil {
		t.Errorf("after writing: %v", err)
	}
}

func TestWrap(t *testing.T) {
	word := strings.Repeat("é", docs.Width-2)
	for _, test := range []struct{ text, want string }{
		{"a short  line", "a short line"},
		{word + " a b", word + " a\n  b"},
		{word + "long to-long", word + "long\n  to-long"},
	} {
		if got := docs.Wrap(test.text, "  "); got != test.want {
			t.Errorf("%q", got)
		}
	}
}
