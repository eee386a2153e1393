package trace_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/caret-bpf/caret-bpf/trace"
)

func TestRegistryNames(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	for _, table := range trace.Registry() {
		if trace.TableByName(table.Name) != table || !snake.MatchString(table.Name) {
			t.Errorf("table %q is not found by its name, or is not in snake case", table.Name)
		}
		seen := map[string]bool{}
		for _, column := range table.Columns {
			if seen[column.Name] || !snake.MatchString(column.Name) {
				t.Errorf("table %s: column %q is there twice, or is not in snake case", table.Name, column.Name)
			}
			seen[column.Name] = true
		}
	}
	if trace.TableByName("callbacks") != nil {
		t.Error("a table that does not exist was found")
	}
}

// TestTablesHaveTheNamesOfTheirConstants: whoever scans a table names it by a constant.
func TestTablesHaveTheNamesOfTheirConstants(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "tables.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(source, func(n ast.Node) bool {
		if constant, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(constant.Names[0].Name, "Table") {
			name, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return true
	})
	for i, table := range trace.Registry() {
		if i >= len(names) || names[i] != table.Name {
			t.Fatalf("the constants are %q, and table %d is %q", names, i, table.Name)
		}
	}
	if len(names) != len(trace.Registry()) {
		t.Errorf("%d constants for %d tables", len(names), len(trace.Registry()))
	}
}

func TestColumnTypes(t *testing.T) {
	cases := []struct {
		table, column string
		want          trace.ColumnType
		nullable      bool
	}{
		{trace.TableCallback, "boot_id", trace.TypeString, false},
		{trace.TableCallback, "callback", trace.TypeInt64, false},
		{trace.TableCallback, "message", trace.TypeInt64, true},
		{trace.TableCallback, "callback_start_timestamp", trace.TypeInt64, true},
		{trace.TableCallback, "is_intra_process", trace.TypeBool, true},
		{trace.TableCallback, "topic_name", trace.TypeString, true},
		{trace.TablePublish, "enqueue_count", trace.TypeInt32, false},
		{trace.TableEnqueue, "publish_number", trace.TypeInt64, true},
		{trace.TableProcess, "namespace_pid", trace.TypeInt32, true},
	}
	for _, c := range cases {
		column := trace.TableByName(c.table).Column(c.column)
		if column == nil || column.Type != c.want || column.Nullable != c.nullable {
			t.Errorf("%s.%s is %+v, want %s, nullable %v", c.table, c.column, column, c.want, c.nullable)
		}
	}
}
