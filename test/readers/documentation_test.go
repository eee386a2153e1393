package readers

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/queries.md names the versions of the engines that the views are tested with here.
func TestTheDocumentationNamesTheVersions(t *testing.T) {
	requirements, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := documentation(t)
	for prefix, requirement := range map[string]string{"Spark ": "pyspark", "chDB ": "chdb", "a lake with ": "duckdb"} {
		version := regexp.MustCompile(`(?m)^` + requirement + `==(.*)$`).FindSubmatch(requirements)
		if version == nil || !strings.Contains(text, prefix+string(version[1])) {
			t.Errorf("docs/queries.md does not have %s%s", prefix, version)
		}
	}
}

// documentation is what docs/queries.md says of other engines than DuckDB, and of lakes.
func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Spark, ClickHouse, Trino\n")
	section, _, ok := strings.Cut(section, "\n## ")
	if !ok {
		t.Fatal("docs/queries.md has no section of other engines")
	}
	return section
}

// documentedQuery is the query of a lake there.
func documentedQuery(t *testing.T) string {
	t.Helper()
	_, query, _ := strings.Cut(documentation(t), "```sql\n")
	query, _, ok := strings.Cut(query, ";\n```")
	if !ok {
		t.Fatal("docs/queries.md has no query of a lake")
	}
	return query
}
