package analyze

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/caret-bpf/caret-bpf/trace"
)

// questionViews ask what the Go queries ask. They build on the tables' views.
//
//go:embed views.sql
var questionViews string

// ViewsFile is the name under which the views are written next to a dataset.
const ViewsFile = "views.sql"

// duckdbTypes are DuckDB's names of the column types.
var duckdbTypes = map[trace.ColumnType]string{
	trace.TypeBool: "BOOLEAN", trace.TypeInt32: "INTEGER", trace.TypeInt64: "BIGINT", trace.TypeUint32: "UINTEGER", trace.TypeUint64: "UBIGINT",
	trace.TypeString: "VARCHAR",
}

// Views returns SQL for DuckDB that makes a view of each table of the dataset, named like it, which adds to each …_timestamp column
// a …_time of type TIMESTAMP_NS; and views that give the answers of `caret-bpf latency callback` and `caret-bpf info`. They refer to
// the dataset by its absolute path and show what is added to it. A table that the dataset does not have is an empty view.
func Views(d *trace.Dataset) (string, error) {
	dir, err := filepath.Abs(d.Dir())
	if err != nil {
		return "", fmt.Errorf("views of %s: %w", d.Dir(), err)
	}
	var sql strings.Builder
	sql.WriteString("-- Views of a caret-bpf dataset for DuckDB. Times are Unix nanoseconds; those named …_time are typed.\n\n")
	for _, table := range trace.Registry() {
		segments, _, err := d.Segments(table.Name)
		if err != nil {
			return "", err
		}
		sql.WriteString(tableView(table, dir, len(segments) > 0))
	}
	sql.WriteString(questionViews)
	return sql.String(), nil
}

func tableView(table *trace.Table, dir string, exists bool) string {
	var columns, nulls []string
	for _, c := range table.Columns {
		columns = append(columns, c.Name)
		nulls = append(nulls, fmt.Sprintf("NULL::%s AS %s", duckdbTypes[c.Type], c.Name))
	}
	var times []string
	for _, c := range columns {
		if name, ok := strings.CutSuffix(c, "_timestamp"); ok && name != "monotonic" {
			times = append(times, fmt.Sprintf("make_timestamp_ns(%s) AS %s_time", c, name))
		}
	}
	source := fmt.Sprintf("read_parquet('%s', union_by_name = true, filename = true, file_row_number = true)",
		strings.ReplaceAll(filepath.Join(dir, table.Name, "*.parquet"), "'", "''"))
	if !exists {
		source = fmt.Sprintf("(SELECT %s, NULL::VARCHAR AS filename, NULL::BIGINT AS file_row_number WHERE false)", strings.Join(nulls, ", "))
	}
	selected := append([]string{"*"}, times...)
	return fmt.Sprintf("CREATE OR REPLACE VIEW \"%s\" AS\nSELECT %s\nFROM %s;\n\n", table.Name, strings.Join(selected, ",\n       "), source)
}
