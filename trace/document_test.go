package trace_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

// TestTheDocumentListsTheColumns compares docs/dataset.md with the registry: the same tables, columns, types and
// nullability in the same order.
func TestTheDocumentListsTheColumns(t *testing.T) {
	text, err := os.ReadFile("../docs/dataset.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := parseDocument(string(text))
	key := documented[""]
	delete(documented, "")
	for _, table := range trace.Registry() {
		var want []string
		for _, column := range table.Columns {
			line := column.Name + " " + string(column.Type)
			if column.Nullable {
				line += " null"
			}
			want = append(want, line)
		}
		got := documented[table.Name]
		if strings.HasPrefix(want[0], "boot_id ") {
			got = append(slices.Clone(key), got...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("docs/dataset.md has for table %s\n%s\nthe registry has\n%s", table.Name, strings.Join(got, ", "), strings.Join(want, ", "))
		}
		delete(documented, table.Name)
	}
	for table := range documented {
		t.Errorf("docs/dataset.md has table %s, the registry does not", table)
	}
}

// parseDocument returns the columns under each heading of a table. Those before the first heading are the process key.
func parseDocument(text string) map[string][]string {
	heading := regexp.MustCompile("^### `([a-z_]+)`$")
	row := regexp.MustCompile("^\\| `([a-z0-9_]+)` \\| ([A-Z0-9]+) \\| ([^|]+) \\|")
	tables := map[string][]string{}
	table := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if match := heading.FindStringSubmatch(line); match != nil {
			table = match[1]
			tables[table] = nil
		}
		if match := row.FindStringSubmatch(line); match != nil {
			column := match[1] + " " + match[2]
			if match[3] != "no" {
				column += " null"
			}
			tables[table] = append(tables[table], column)
		}
	}
	return tables
}
