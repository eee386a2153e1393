package dialect

import (
	"fmt"
	"strings"
)

// A Column is a column that files have.
type Column struct {
	Name string
	Type Type
}

// Files are the Parquet files of one folder, as an engine reads them. A column that only some of them have is null in the
// others.
type Files struct {
	Declaration string // what has to be run before; "" if nothing
	From        string // what stands behind FROM
	File, Row   string // expressions that tell a row's file, and its place in it
}

// patterns are what DuckDB, Spark and ClickHouse take for a pattern in a path.
const patterns = `*?[]{}\`

// Files returns how the Parquet files of a folder are read, which have these columns. They are declared under a name where
// the engine needs that. It fails for folders that the engine cannot be given.
func (d *Dialect) Files(name, folder string, columns []Column) (Files, error) {
	if strings.ContainsAny(folder, patterns) {
		return Files{}, fmt.Errorf("%s takes %q for a pattern of paths: move the files to a folder without any of %s, or make a link to theirs", d.Engine, folder, patterns)
	}
	var declared []string
	for _, c := range columns {
		declared = append(declared, c.Name+" "+d.types[c.Type])
	}
	list := strings.Join(declared, ", ")
	switch d.Name {
	case "spark":
		return Files{
			From: fmt.Sprintf("parquet.`%s` WITH (mergeSchema = 'true', pathGlobFilter = '*.parquet')", strings.ReplaceAll(folder, "`", "``")),
			File: "_metadata.file_path", Row: "_metadata.row_index",
		}, nil
	case "clickhouse":
		return Files{
			From: fmt.Sprintf("file(%s, Parquet, %s)", d.Quote(folder+"/*.parquet"), d.Quote(list)), File: "_path", Row: "_row_number",
		}, nil
	case "trino":
		return Files{
			Declaration: fmt.Sprintf("DROP TABLE IF EXISTS %[1]s;\n\nCREATE TABLE %[1]s (%[2]s)\nWITH (format = 'PARQUET', external_location = %[3]s);\n\n", name, list, d.Quote("local://"+folder)),
			From:        name, File: `"$path"`, Row: `row_number() OVER (PARTITION BY "$path")`,
		}, nil
	}
	return Files{}, fmt.Errorf("files of %s are not known", d.Engine)
}
