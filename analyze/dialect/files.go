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

// Files are the Parquet files of one folder, as an engine reads them. A column that only some of them have is null
// in the others.
type Files struct {
	Declaration string // what has to be run before; "" if nothing
	From        string // what stands behind FROM
	File, Row   string // expressions that tell a row's file, and its place in it; "" if nothing tells
}

// patterns are what DuckDB, Spark and ClickHouse take for a pattern in a path.
const patterns = `*?[]{}\`

// A Folder has Parquet files.
type Folder struct {
	// Path is absolute, or begins with s3://.
	Path string
	// Nested says that the files are in folders KEY=VALUE, whose values are columns of the files, too.
	Nested bool
}

const s3 = "s3://"

// Files returns how the Parquet files of a folder are read, which have these columns. They are declared under a
// name where the engine needs that. It fails for folders that the engine cannot be given.
func (d *Dialect) Files(name string, of Folder, columns []Column) (Files, error) {
	if strings.ContainsAny(of.Path, patterns) {
		return Files{}, fmt.Errorf("%s takes %q for a pattern of paths: move the files to a folder without any of %s, or make a link to theirs", d.Engine, of.Path, patterns)
	}
	var declared []string
	for _, c := range columns {
		declared = append(declared, d.Identifier(c.Name)+" "+d.types[c.Type])
	}
	return d.files(d, name, of, strings.Join(declared, ", ")), nil
}

// duckDBFiles reads no values from folders' names, which the files have, too: DuckDB 1.5 takes a folder's null and NULL
// for none. That skips nothing less: the ends of all files are read for their columns, which tell bounds of values.
func duckDBFiles(d *Dialect, _ string, of Folder, _ string) Files {
	return Files{
		From: fmt.Sprintf("read_parquet(%s, union_by_name = true, filename = true, file_row_number = true, hive_partitioning = false)", d.Quote(of.glob())),
		File: "filename", Row: "file_row_number",
	}
}

// sparkFiles lists the files of a lake's table when the declaration runs, and opens none but those that are asked
// for: there may be very many.
func sparkFiles(d *Dialect, name string, of Folder, columns string) Files {
	path := of.Path
	if key, ok := strings.CutPrefix(path, s3); ok {
		path = "s3a://" + key
	}
	if of.Nested {
		return Files{
			Declaration: fmt.Sprintf("CREATE OR REPLACE TEMPORARY VIEW %s (%s)\nUSING parquet OPTIONS (path %s, pathGlobFilter '*.parquet');\n\n", name, columns, d.Quote(path)),
			From:        name,
		}
	}
	return Files{
		From: fmt.Sprintf("parquet.`%s` WITH (mergeSchema = 'true', pathGlobFilter = '*.parquet')", strings.ReplaceAll(path, "`", "``")),
		File: "_metadata.file_path", Row: "_metadata.row_index",
	}
}

func clickHouseFiles(d *Dialect, _ string, of Folder, columns string) Files {
	from := fmt.Sprintf("file(%s, Parquet, %s)", d.Quote(of.glob()), d.Quote(columns))
	if strings.HasPrefix(of.Path, s3) {
		from = fmt.Sprintf("s3(%s, 'Parquet', %s)", d.Quote(of.glob()), d.Quote(columns))
	}
	return Files{From: from, File: "_path", Row: "_row_number"}
}

func trinoFiles(d *Dialect, name string, of Folder, columns string) Files {
	location := of.Path
	if !strings.HasPrefix(location, s3) {
		location = "local://" + location
	}
	return Files{
		Declaration: fmt.Sprintf("DROP TABLE IF EXISTS %[1]s;\n\nCREATE TABLE %[1]s (%[2]s)\nWITH (format = 'PARQUET', external_location = %[3]s);\n\n", name, columns, d.Quote(location)),
		From:        name, File: `"$path"`, Row: `row_number() OVER (PARTITION BY "$path")`,
	}
}

// glob is the pattern of the folder's files.
func (f Folder) glob() string {
	if f.Nested {
		return f.Path + "/**/*.parquet"
	}
	return f.Path + "/*.parquet"
}
