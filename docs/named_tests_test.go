package docs_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A test that a page names, because it holds what is said there, exists.
func TestPagesNameTestsThatExist(t *testing.T) {
	functions := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "build" {
			return cmp.Or(err, fs.SkipDir)
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, match := range function.FindAllSubmatch(source, -1) {
			functions[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for page, least := range map[string]int{"security.md": 50, "reliability.md": 20, "architecture.md": 10, "viewers.md": 10, "verify.md": 2} {
		named := name.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", page)), -1)
		if len(named) < least {
			t.Errorf("%s names %d tests", page, len(named))
		}
		for _, match := range named {
			if !functions[match[1]] {
				t.Errorf("%s names %s, which does not exist", page, match[1])
			}
		}
	}
}
