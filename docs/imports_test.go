package docs_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/caret-bpf/caret-bpf/"

var folderName = regexp.MustCompile("`([a-z/-]+)/`")

// importsOf are the packages of ours that the Go files of a folder import, without tests. tools has a folder for each
// program.
func importsOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if len(files) == 0 {
		files, err = filepath.Glob(filepath.Join(root, folder, "*", "*.go"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if imported, ours := strings.CutPrefix(path, module); ours && !strings.HasPrefix(imported, "tools/") {
				all = append(all, imported)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The table of folders in architecture.md says what each of them imports.
func TestFoldersImportWhatTheTableSays(t *testing.T) {
	checked := 0
	for line := range strings.Lines(read(t, filepath.Join(root, "docs", "architecture.md"))) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		folders := folderName.FindAllStringSubmatch(cells[0], -1)
		if len(cells) != 3 || len(folders) == 0 {
			continue
		}
		want := strings.Fields(cells[2])
		if slices.Equal(want, []string{"–"}) {
			want = nil
		}
		if slices.Equal(want, []string{"all", "below"}) {
			continue
		}
		var got []string
		for _, folder := range folders {
			if _, err := os.Stat(filepath.Join(root, folder[1])); err != nil {
				t.Errorf("%s is not there", folder[1])
			}
			for _, imported := range importsOf(t, folder[1]) {
				if !slices.ContainsFunc(folders, func(f []string) bool { return f[1] == imported }) {
					got = append(got, imported)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s imports %v, not %v", strings.TrimSpace(cells[0]), got, want)
		}
		checked++
	}
	if checked < 20 {
		t.Errorf("%d rows", checked)
	}
}
