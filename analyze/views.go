package analyze

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/caret-bpf/caret-bpf/analyze/dialect"
	"github.com/caret-bpf/caret-bpf/trace"
)

// questionViews ask what the Go queries ask. They build on the tables' views. They are a template of package dialect.
//
//go:embed views.sql
var questionViews string

// delayViews ask where the time before callbacks went, and who preempted them. What happened last until an instant is
// found by windows: the SQL of engines differs where they can join by the nearest time at all.
//
//go:embed views_delay.sql
var delayViews string

// ViewsFile is the name under which the views are written next to a dataset.
const ViewsFile = "views.sql"

// viewTypes are the types of columns in SQL.
var viewTypes = map[trace.ColumnType]dialect.Type{
	trace.TypeBool: dialect.Boolean, trace.TypeInt32: dialect.Integer, trace.TypeInt64: dialect.BigInt, trace.TypeString: dialect.Text,
}

// duckDB is the dialect of Views.
var duckDB = dialect.ByName("duckdb")

// Views returns SQL for DuckDB that makes a view of each table of the dataset, named like it, which adds to each
// …_timestamp column a …_time of type TIMESTAMP_NS; and views that give the answers of `caret-bpf latency callback` and
// `caret-bpf info`. They refer to the dataset by its absolute path and show what is added to it. A table that the
// dataset does not have is an empty view.
func Views(d *trace.Dataset) (string, error) {
	dir, err := filepath.Abs(d.Dir())
	if err != nil {
		return "", fmt.Errorf("views of %s: %w", d.Dir(), err)
	}
	questions, err := renderViews(duckDB)
	if err != nil {
		return "", err
	}
	var sql strings.Builder
	sql.WriteString("-- Views of a caret-bpf dataset for DuckDB. Times are Unix nanoseconds; those named …_time are typed.\n\n")
	sql.WriteString(unstampedComment(d.Session()))
	for _, table := range trace.Registry() {
		segments, _, err := d.Segments(table.Name)
		if err != nil {
			return "", err
		}
		groups, _ := trace.Groups(context.Background(), d, table.Name) // a damaged segment says nothing; DuckDB will complain about it
		sql.WriteString(tableView(table, dir, len(segments) > 0, groups))
	}
	sql.WriteString(questions)
	return sql.String(), nil
}

// renderViews are the views that ask questions, in a dialect.
func renderViews(to *dialect.Dialect) (string, error) {
	questions, err := to.Render(questionViews+"\n"+delayViews, viewActions(to))
	if err != nil {
		return "", fmt.Errorf("views for %s: %w", to.Engine, err)
	}
	return questions, nil
}

// mostBehind bounds how many callbacks of a thread are looked through for the one that ran longest before another one.
// Trino makes no longer sequences.
const mostBehind = 10_000

// viewActions are what the templates of views ask about tables: columns "table" "alias" "x"… names the columns of a
// table's view but for x…, as of an alias if that is not "".
func viewActions(to *dialect.Dialect) template.FuncMap {
	return template.FuncMap{
		"columns": func(table, alias string, but ...string) (string, error) {
			names, err := viewColumns(table, but...)
			if alias == "" || err != nil {
				return strings.Join(names, ", "), err
			}
			return to.Of(alias, names...), nil
		},
		"mostBehind": func() int { return mostBehind },
	}
}

// viewColumns names the columns of a table's view but for some.
func viewColumns(name string, but ...string) ([]string, error) {
	var names []string
	for _, table := range trace.Registry() {
		if table.Name != name {
			continue
		}
		for i := range table.Columns {
			if c := &table.Columns[i]; !c.IsOffset() && !slices.Contains(but, c.Name) {
				names = append(names, c.Name)
			}
		}
		for i := range table.Columns {
			if typed := typedTime(&table.Columns[i]); typed != "" {
				names = append(names, typed)
			}
		}
		return append(names, "filename", "file_row_number"), nil
	}
	return nil, fmt.Errorf("there is no table %s", name)
}

// typedTime names the typed time beside a column of a table's view; "" if it has none.
func typedTime(c *trace.Column) string {
	typed, ok := strings.CutSuffix(c.Name, "_timestamp")
	if !ok || typed == "monotonic" || c.IsOffset() {
		return ""
	}
	return typed + "_time"
}

// maxCommentedTypes bounds the types of messages that a comment names.
const maxCommentedTypes = 20

// unstampedComment says of which types message_timestamp is null because their stamps were not read. Text of the
// dataset is quoted, so that none of it ends the comment.
func unstampedComment(session *trace.Session) string {
	if session == nil || len(session.Unstamped) == 0 {
		return ""
	}
	var sql strings.Builder
	sql.WriteString("-- message_timestamp is null of messages of these types, because it is not known where they have their header:\n")
	for _, of := range session.Unstamped[:min(maxCommentedTypes, len(session.Unstamped))] {
		fmt.Fprintf(&sql, "--   %q in %d processes: %q\n", of.MessageType, len(of.PIDs), of.Reason)
	}
	if more := len(session.Unstamped) - maxCommentedTypes; more > 0 {
		fmt.Fprintf(&sql, "--   and %d more: caret-bpf info --part unstamped\n", more)
	}
	return sql.String() + "\n"
}

// storesOffsets tells whether segments have the columns of offsets that the table has now.
func storesOffsets(table *trace.Table, groups []*trace.Group) bool {
	for i := range table.Columns {
		if c := &table.Columns[i]; c.IsOffset() {
			return slices.ContainsFunc(groups, func(g *trace.Group) bool { return g.HasColumn(c.Name) })
		}
	}
	return false
}

// countingRow tells in SQL which of the rows of each entity counts: what they are an entity by, and an order in
// which it is the first; "" for other tables. Rows of recorders that gave them no numbers are of one life if they
// name the same address and the same begin.
func countingRow(table *trace.Table, groups []*trace.Group) (entity, first string) {
	if !table.HasEntities() {
		return "", ""
	}
	numbered := slices.ContainsFunc(groups, func(g *trace.Group) bool { return g.HasColumn("revision") })
	identity := []string{"boot_id", "pid", "process_start"}
	order := "filename DESC, file_row_number DESC"
	if numbered {
		order = "revision DESC NULLS LAST, " + order
	}
	if table.Column("entity") != nil {
		life := []string{table.Columns[len(identity)].Name, "init_timestamp"}
		if table.Name == trace.TableSubscription {
			life = append(life, "subscription")
		}
		for _, column := range life {
			if numbered {
				column = fmt.Sprintf("CASE WHEN entity IS NULL THEN %s END", column)
			}
			identity = append(identity, column)
		}
		if numbered {
			identity = append(identity, "entity")
		}
	}
	return strings.Join(identity, ", "), order
}

// wholeTime is SQL for a time of which a segment may hold the offset from another.
func wholeTime(c *trace.Column) string {
	return fmt.Sprintf("coalesce(%s, %s + %s)", c.Name, c.After, c.OffsetName())
}

// wrapping has the greatest number of a signed type, and how many numbers the type has.
var wrapping = map[trace.ColumnType][2]string{
	trace.TypeInt32: {"2147483647", "4294967296"},
	trace.TypeInt64: {"9223372036854775807", "18446744073709551616"},
}

// signed is SQL for a column that formats 1 and 2 store as unsigned: the signed number of the same bits.
func signed(c *trace.Column) string {
	wrap := wrapping[c.Type]
	return fmt.Sprintf("(%[1]s - CASE WHEN %[1]s > %[2]s THEN %[3]s ELSE 0 END)::%[4]s", c.Name, wrap[0], wrap[1], duckDB.TypeName(viewTypes[c.Type]))
}

// tableView is the view of a table that has these row groups. Whatever the format and the age of the recorder, it has
// the columns of the table as it is now, in the types that they have now.
func tableView(table *trace.Table, dir string, exists bool, groups []*trace.Group) string {
	storesOffsets := storesOffsets(table, groups)
	var nulls, missing, replaced, offsets, times []string
	for i := range table.Columns {
		c := &table.Columns[i]
		if c.IsOffset() {
			continue
		}
		null := duckDB.Cast("NULL", viewTypes[c.Type]) + " AS " + c.Name
		nulls = append(nulls, null)
		value := c.Name
		switch {
		case c.After != "" && storesOffsets:
			value = wholeTime(c)
			offsets = append(offsets, c.OffsetName())
		case slices.ContainsFunc(groups, func(g *trace.Group) bool { return g.IsUnsigned(c.Name) }):
			value = signed(c)
		case len(groups) > 0 && !slices.ContainsFunc(groups, func(g *trace.Group) bool { return g.HasColumn(c.Name) }):
			missing = append(missing, null)
		}
		if value != c.Name {
			replaced = append(replaced, value+" AS "+c.Name)
		}
		if typed := typedTime(c); typed != "" {
			times = append(times, duckDB.Time(value)+" AS "+typed)
		}
	}
	source := fmt.Sprintf("read_parquet(%s, union_by_name = true, filename = true, file_row_number = true)",
		duckDB.Quote(filepath.Join(dir, table.Name, "*.parquet")))
	selection := ""
	if entity, first := countingRow(table, groups); entity != "" {
		selection = fmt.Sprintf("\nQUALIFY row_number() OVER (PARTITION BY %s\n                           ORDER BY %s) = 1", entity, first)
	}
	if !exists {
		source = fmt.Sprintf("(SELECT %s, NULL::VARCHAR AS filename, NULL::BIGINT AS file_row_number WHERE false)", strings.Join(nulls, ", "))
		selection = ""
	}
	all := "*"
	if len(offsets) > 0 {
		all += fmt.Sprintf(" EXCLUDE (%s)", strings.Join(offsets, ", "))
	}
	if len(replaced) > 0 {
		all += fmt.Sprintf(" REPLACE (%s)", strings.Join(replaced, ", "))
	}
	selected := slices.Concat([]string{all}, missing, times)
	return fmt.Sprintf("CREATE OR REPLACE VIEW \"%s\" AS\nSELECT %s\nFROM %s%s;\n\n", table.Name, strings.Join(selected, ",\n       "), source, selection)
}
